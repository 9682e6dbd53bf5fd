// Which cells make which slide. The same rule as tools/presenting/slides.py; a test compares.

const HEADING = /^#{1,6}[ \t]+(.+?)[ \t#]*$/m;
const FENCE = /^```[^]*?^```/gm;
// A cell that ends in one of these is shown for its output; `c` uncovers its code.
const SHOWS =
  /^\s*(?:\w+\s*=\s*)?(?:\w+\.)*(?:explore_\w+|show\w*|predict|guesses|source_note|Markdown|\w+_table)\(|^\w+\.QUIZ\b/m;

const PLANNED = /For the presenter, (?:(\d+) min|after class)/;

// The buttons of a question are no picture that words could be about.
const ASKS = /\bpredict\(/;

// Words that press a preset, and the picture that they set.
const SETS = /class="course-sets"/;
const EXPLORES = /\bexplore_\w+\(/;

// Group cells, given as {id, type, slide, source, about}, into slides:
// {cells: [{place, fragment}], notes: [place], title, section, begins, planned, inClass, about};
// a place is a position in `cells`, and `begins` is true for the first slide of a section. `planned`
// are minutes, null for after class, undefined where nothing is said; `inClass` says whether it is
// on the short path. `about` is the place of the cell that the words of an answer are about:
// the last code, the picture that they set, or what the words' cell names, which may be none.
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
      if (last) {
        last.planned = plannedIn(source);
      }
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
    slide.topic = topicOf(slides[place - 1], slide, cells);
    slide.about = aboutOf(slide, cells);
    slide.title = slide.title || continued;
    slide.inClass = isInClass(slides, place);
  }
  return slides;
}

// The minutes that notes plan for their slide; null for after class.
function plannedIn(source) {
  const [found, minutes] = source.match(PLANNED) ?? [];
  return found && (minutes === undefined ? null : Number(minutes));
}

// A slide without notes goes with the slide before it; the first of a section with the next that
// has notes.
function isInClass(slides, place) {
  const { planned, begins } = slides[place];
  if (planned !== undefined) {
    return planned !== null;
  }
  if (!begins) {
    return slides[place - 1].inClass;
  }
  const rest = slides.slice(place + 1);
  const end = rest.findIndex(slide => slide.begins);
  const said = (end < 0 ? rest : rest.slice(0, end)).find(slide => slide.planned !== undefined);
  return Boolean(said) && said.planned !== null;
}

// What the words of a slide are about: its last code, or without a heading what the slide before was
// about.
function topicOf(before, slide, cells) {
  const isTopic = ({ place }) => cells[place].type === 'code' && !ASKS.test(cells[place].source);
  const goesOn = !slide.title && !slide.begins;
  return slide.cells.findLast(isTopic)?.place ?? (goesOn ? before?.topic : undefined);
}

// What is shown beside words alone: what they name, the picture that they set, and without a heading
// their topic.
function aboutOf(slide, cells) {
  const own = slide.cells.map(({ place }) => cells[place]);
  const named = own.find(({ about }) => about !== undefined)?.about;
  if (named !== undefined) {
    return cells.flatMap(({ id }, place) => (id === named ? [place] : []))[0];
  }
  const codes = own.filter(({ type }) => type === 'code');
  if (own.some(({ source }) => SETS.test(source)) && codes.every(({ source }) => ASKS.test(source))) {
    return explorerAbove(slide, cells);
  }
  return slide.title || slide.begins || codes.length ? undefined : slide.topic;
}

// Words set the nearest picture above them.
function explorerAbove(slide, cells) {
  const above = cells.slice(0, slide.cells[0].place);
  const place = above.findLastIndex(({ source }) => EXPLORES.test(source));
  return place < 0 ? undefined : place;
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
