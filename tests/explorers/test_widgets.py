"""What shows a widget, with ipywidgets 8 and without its method, as in Colab's ipywidgets 7."""

import ipywidgets

from course_utils.widgets import widget_view

VIEW = "application/vnd.jupyter.widget-view+json"


def test_both_forms_name_the_same_view():
    slider = ipywidgets.IntSlider()

    class Seven:
        model_id = slider.model_id

    assert widget_view(Seven())[VIEW] == widget_view(slider)[VIEW]
