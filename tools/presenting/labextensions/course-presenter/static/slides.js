// Which cells make which slide. The same rule as tools/presenting/slides.py; a test compares.

const HEADING = /^#{1,6}[ \t]+(.+?)[ \t#]*$/m;
const FENCE = /^```[^]*?^```/gm;
// A cell that ends in one of these is shown for its output; `c` uncovers its code.
const SHOWS =
  /^\s*(?:\w+\s*=\s*)?(?:\w+\.)*(?:explore_\w+|show\w*|predict|guesses|source_note|Markdown|\w+_table)\(|^\w+\.QUIZ\b/m;

// Group cells, given as {type, slide, source}, into slides:
// {cells: [{place, fragment}], notes: [place], title, section, begins}; a place is a position in
// `cells`, and `begins` is true for the first slide of a section.
export function slidesOf(cells) {
  const slides = [];
  let section = '';
  cells.forEach(({ type, slide, source }, place) => {
    const last = slides[slides.length - 1];
    if (slide === 'skip') {
      return;
    }
    if (slide === 'notes') {
      last?.notes.push(place);
      return;
    }
    if (!last || slide === 'slide' || slide === 'subslide') {
      const begins = !last || slide === 'slide';
      slides.push({ cells: [], notes: [], title: '', section: begins ? '' : section, begins });
    }
    const current = slides[slides.length - 1];
    current.cells.push({ place, fragment: slide === 'fragment' && current.cells.length > 0 });
    const heading = type === 'markdown' ? headingOf(source) : '';
    current.title = current.title || heading;
    if (current.begins) {
      current.section = current.title;
    }
    section = current.section;
  });
  for (const [place, slide] of slides.entries()) {
    const continued = slide.section ? `${slide.section} (continued)` : `Slide ${place + 1}`;
    slide.title = slide.title || continued;
  }
  return slides;
}

// How many cells of a slide wait to be uncovered.
export function fragmentsOf(slide) {
  return slide.cells.filter(cell => cell.fragment).length;
}

// Whether a code cell is shown for what it displays, so that a slide leaves its code out.
export function hidesCode(source) {
  return SHOWS.test(source);
}

// The first heading of a text; a comment in its code is none.
function headingOf(source) {
  return (source.replace(FENCE, '').match(HEADING)?.[1] ?? '').replaceAll('**', '');
}
