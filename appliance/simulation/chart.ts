/**
 * Draws line charts as SVG text, with labeled axes, a legend, and colors for light and dark mode. No dependencies, no
 * randomness.
 */

export interface Series {
  name: string
  /** Sorted by x. */
  points: readonly { x: number; y: number }[]
  /**
   * `steps` keeps each value until the next point. `dashed` is for planned values. `marks` shows single events and
   * ignores y.
   */
  style: 'line' | 'steps' | 'dashed' | 'marks'
}

export interface Chart {
  title: string
  /** One sentence about the source of the figures. */
  caption: string
  x: string
  y: string
  series: readonly Series[]
  /** The maximum of the y axis; lines above it are clipped. By default, everything fits. */
  top?: number
  /** Makes the y axis logarithmic from 1. Smaller values are drawn below it. */
  logarithmic?: true
}

const WIDTH = 760
const HEIGHT = 420
const LEFT = 70
const RIGHT = 20
const TOP = 60
const BOTTOM = 110

/** Colors for color-blind readers (Okabe and Ito), with lighter ones for dark mode. */
const LIGHT = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#7a5195']
const DARK = ['#56b4e9', '#f0a35e', '#4fd1a5', '#e8a6cc', '#b39ddb']

/** Renders the chart as a complete SVG file. */
export function drawChart(chart: Chart): string {
  const xs = chart.series.flatMap(({ points }) => points.map(({ x }) => x))
  const [least, most] = [Math.min(...xs), Math.max(...xs)]
  const xTicks = computeTicks(least, most).filter((tick) => tick >= least && tick <= most)
  const yTicks = chart.logarithmic ? powers(highest(chart)) : computeTicks(0, highest(chart))
  const height: [number, number] = [HEIGHT - BOTTOM, TOP]
  const scale = {
    x: linear([least, most], [LEFT, WIDTH - RIGHT]),
    y: chart.logarithmic ? logarithmic(1.3 * highest(chart), height) : linear([0, yTicks.at(-1)!], height),
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escape(`${chart.title}. ${chart.caption}`)}">`,
    `<style>${css()}</style>`,
    `<rect class="ground" width="${WIDTH}" height="${HEIGHT}"/>`,
    text(LEFT, 24, chart.title, 'title'),
    text(LEFT, 42, chart.caption, 'small'),
    ...yTicks.flatMap((tick) => [
      `<path class="grid" d="M${LEFT} ${round(scale.y(tick))}H${WIDTH - RIGHT}"/>`,
      text(LEFT - 8, scale.y(tick) + 4, label(tick), 'small end'),
    ]),
    ...xTicks.map((tick) => text(scale.x(tick), HEIGHT - BOTTOM + 18, label(tick), 'small middle')),
    `<path class="axis" d="M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - RIGHT}"/>`,
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 38, chart.x, 'middle'),
    `<text class="middle" transform="translate(18 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)">${escape(chart.y)}</text>`,
    `<clipPath id="plot"><rect x="${LEFT}" y="${TOP - 2}" width="${WIDTH - LEFT - RIGHT}" height="${HEIGHT - TOP - BOTTOM + 4}"/></clipPath>`,
    '<g clip-path="url(#plot)">',
    ...chart.series.map((series, at) => drawSeries(series, at, scale)),
    '</g>',
    ...legend(chart.series),
    '</svg>',
    '',
  ].join('\n')
}

function highest({ series, top }: Chart): number {
  if (top !== undefined) return Math.max(1, top)
  const drawn = series.filter(({ style }) => style !== 'marks').flatMap(({ points }) => points)
  return drawn.reduce((most, { y }) => Math.max(most, y), 1)
}

interface Scale {
  x: (value: number) => number
  y: (value: number) => number
}

function drawSeries({ points, style }: Series, at: number, { x, y }: Scale): string {
  if (style === 'marks')
    return points
      .map((point) => `<path class="line c${at}" d="M${round(x(point.x))} ${HEIGHT - BOTTOM}v-30"/>`)
      .join('')
  const path = points.map((point, n) => {
    const [px, py] = [round(x(point.x)), round(y(point.y))]
    if (n === 0) return `M${px} ${py}`
    return style === 'steps' ? `H${px}V${py}` : `L${px} ${py}`
  })
  return `<path class="line c${at}${style === 'dashed' ? ' dashed' : ''}" d="${path.join('')}"/>`
}

/** Lays out the legend from left to right, in as many rows as needed. */
function legend(series: readonly Series[]): string[] {
  let left = LEFT
  let row = 0
  return series.flatMap(({ name, style }, at) => {
    const width = 46 + 6.6 * name.length
    if (left + width > WIDTH && left > LEFT) [left, row] = [LEFT, row + 1]
    const y = HEIGHT - 32 + 20 * row
    const here = left
    left += width
    const line = `<path class="line c${at}${style === 'dashed' ? ' dashed' : ''}" d="M${here} ${y}h22"/>`
    return [line, text(here + 28, y + 4, name, 'small')]
  })
}

/** Returns five to ten round numbers. The first is at most `least`; the last is at least `most`. */
export function computeTicks(least: number, most: number): number[] {
  const span = Math.max(most - least, 1)
  const power = 10 ** Math.floor(Math.log10(span / 5))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => span / one <= 9) ?? 10 * power
  const first = Math.floor(least / step)
  const last = Math.ceil(most / step)
  return Array.from({ length: last - first + 1 }, (_, n) => round((first + n) * step))
}

/** Returns the powers of ten from 1 up to `most`. */
const powers = (most: number): number[] =>
  Array.from({ length: Math.floor(Math.log10(most)) + 1 }, (_, n) => 10 ** n)

/** The y value at which zero is drawn, slightly below 1. */
const NOTHING = 0.6

const logarithmic = (top: number, range: [number, number]): ((value: number) => number) => {
  const scale = linear([Math.log10(NOTHING), Math.log10(top)], range)
  return (value) => scale(Math.log10(Math.max(NOTHING, value)))
}

const linear =
  ([from, to]: [number, number], [low, high]: [number, number]) =>
  (value: number): number =>
    low + ((value - from) / (to - from)) * (high - low)

const round = (value: number): number => Math.round(value * 100) / 100
const label = (value: number): string => value.toLocaleString('en-US').replaceAll(',', ' ')
const escape = (words: string): string =>
  words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
const text = (x: number, y: number, words: string, kind: string): string =>
  `<text class="${kind}" x="${round(x)}" y="${round(y)}">${escape(words)}</text>`

function css(): string {
  const colours = (list: readonly string[]): string =>
    list.map((one, at) => `.c${at}{stroke:${one}}`).join('')
  return [
    'text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-size:16px;font-weight:600}.small{font-size:12px}',
    '.middle{text-anchor:middle}.end{text-anchor:end}.ground{fill:#fff}.grid{stroke:#d8dee4;fill:none}.axis{stroke:#57606a;fill:none}',
    `.line{fill:none;stroke-width:2}.dashed{stroke-dasharray:6 4}${colours(LIGHT)}`,
    `@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#0d1117}.grid{stroke:#30363d}.axis{stroke:#8b949e}${colours(DARK)}}`,
  ].join('')
}
