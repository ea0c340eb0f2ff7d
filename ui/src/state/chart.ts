/** A metrics chart, drawn by uPlot on a canvas. The page adds the title, keyboard support and a description. */
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { formatFigure, type Limit } from './metrics.ts'

/** Data of a chart. Instants are Unix milliseconds; all lists have the length of `times`. */
export interface ChartData {
  times: readonly number[]
  now: readonly (number | null)[]
  before: readonly (number | null)[]
  robots: readonly (number | null)[] | null
  share: boolean
  limits: readonly Limit[]
  hourly: boolean
  utc: boolean
}

/** Colors of the current theme, in canvas syntax. */
export interface ChartColors {
  line: string
  fill: string
  ghost: string
  grid: string
  ink: string
  limit: string
  font: string
}

/** Maximum number of points with dots; with more, the dots would overlap. */
const MOST_DOTS = 40
/** Synchronizes the cursors of all charts. */
const SYNC = 'metrics'

const HEIGHT = 150

/** Formatters are slow to create, so each is created once. */
const formats = (options: Intl.DateTimeFormatOptions) => ({
  local: new Intl.DateTimeFormat('en-GB', options),
  utc: new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' }),
})
const HOURS = formats({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const DAYS = formats({ day: 'numeric', month: 'short' })
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** Formats an axis label: the hour if the chart shows one day, otherwise the day. */
const tick = (at: number, { hourly, utc }: ChartData, step: number): string =>
  (hourly && step < 86_400_000 ? HOURS : DAYS)[utc ? 'utc' : 'local'].format(at)

/** Draws limit lines with labels. The labels of two limits are on opposite sides, since the lines may be close. */
function drawLimits(u: uPlot, limits: readonly Limit[], colours: ChartColors): void {
  const { ctx, bbox } = u
  ctx.save()
  ctx.strokeStyle = ctx.fillStyle = colours.limit
  ctx.font = scaled(colours.font)
  ctx.textBaseline = 'bottom'
  ctx.lineWidth = devicePixelRatio
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio])
  for (const [i, { at, words }] of limits.entries()) {
    const y = Math.round(u.valToPos(at, 'y', true))
    ctx.beginPath()
    ctx.moveTo(bbox.left, y)
    ctx.lineTo(bbox.left + bbox.width, y)
    ctx.stroke()
    const inset = 4 * devicePixelRatio
    ctx.textAlign = i % 2 === 0 ? 'left' : 'right'
    const x = i % 2 === 0 ? bbox.left + inset : bbox.left + bbox.width - inset
    ctx.fillText(words, x, y - devicePixelRatio)
  }
  ctx.restore()
}

/** Scales a font to the canvas's pixels. */
const scaled = (font: string): string =>
  font.replace(/(\d+)px/, (_, size: string) => `${Number(size) * devicePixelRatio}px`)

/**
 * Returns the range of the value axis. It starts at zero, includes limits, and leaves space above a line that is zero
 * throughout.
 */
const range =
  ({ limits, share }: ChartData) =>
  (_: uPlot, _min: number, max: number): uPlot.Range.MinMax => {
    const top = Math.max(max || 0, ...limits.map(({ at }) => at))
    return [0, top === 0 ? (share ? 0.01 : 4) : top * 1.15]
  }

function series(drawing: ChartData, colours: ChartColors): uPlot.Series[] {
  const dots = { show: drawing.times.length <= MOST_DOTS, size: 5, fill: colours.line }
  const thin = { width: 1, points: { show: drawing.times.length === 1 } }
  return [
    {},
    // Draw the filled series first, so that its fill doesn't cover the thin lines.
    { stroke: colours.line, fill: colours.fill, width: 2, points: dots },
    { stroke: colours.ghost, dash: [5, 4], ...thin },
    ...(drawing.robots ? [{ stroke: colours.ink, dash: [1, 3], ...thin }] : []),
  ]
}

function axes(drawing: ChartData, colours: ChartColors): uPlot.Axis[] {
  const look = { stroke: colours.ink, font: colours.font, ticks: { show: false } }
  return [
    {
      ...look,
      grid: { show: false },
      space: 64,
      size: 28,
      gap: 7,
      values: (_, splits, _axis, _space, step) => splits.map((at) => tick(at, drawing, step)),
    },
    {
      ...look,
      grid: { stroke: colours.grid, width: 1 },
      space: 36,
      size: 52,
      gap: 4,
      // Counts need no fractional labels.
      incrs: drawing.share ? SHARES : WHOLE,
      values: (_, splits) =>
        splits.map((value) => (drawing.share ? formatFigure(value, true) : COMPACT.format(value))),
    },
  ]
}

const WHOLE = Array.from({ length: 13 }, (_, n) => [1, 2, 5].map((step) => step * 10 ** n)).flat()
const SHARES = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5]

const dataOf = ({ times, now, before, robots }: ChartData): uPlot.AlignedData => [
  [...times],
  [...now],
  [...before],
  ...(robots ? [[...robots]] : []),
]

/**
 * Draws a chart into `target` until it is destroyed.
 * @param onpoint called with the point under the cursor, or null
 */
export function drawChart(
  target: HTMLElement,
  width: number,
  drawing: ChartData,
  colours: ChartColors,
  onpoint: (index: number | null) => void,
): uPlot {
  return new uPlot(
    {
      width: Math.max(Math.floor(width), 100),
      height: HEIGHT,
      ms: 1,
      ...(drawing.utc && { tzDate: (at: number) => uPlot.tzDate(new Date(at), 'Etc/UTC') }),
      // The second half of the last label is to the right of the last point.
      padding: [8, 22, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, sync: { key: SYNC, setSeries: false } },
      scales: { x: { time: true }, y: { range: range(drawing) } },
      series: series(drawing, colours),
      axes: axes(drawing, colours),
      hooks: {
        setCursor: [(u) => onpoint(u.cursor.idx ?? null)],
        draw: [(u) => drawLimits(u, drawing.limits, colours)],
      },
    },
    dataOf(drawing),
    target,
  )
}

/** A drawn chart, and the text above it in the image. */
export interface ChartImage {
  title: string
  words: string
  canvas: HTMLCanvasElement
}

/** Draws all charts into one PNG, two per row. */
export function renderChartsPng(
  charts: readonly ChartImage[],
  head: string,
  colours: { ground: string; ink: string; font: string },
): HTMLCanvasElement {
  const scale = devicePixelRatio
  const [gap, top, label] = [20 * scale, 48 * scale, 44 * scale]
  const width = Math.max(...charts.map(({ canvas }) => canvas.width))
  const height = HEIGHT * scale + label
  const sheet = document.createElement('canvas')
  sheet.width = 2 * width + 3 * gap
  sheet.height = top + Math.ceil(charts.length / 2) * (height + gap)
  const ctx = sheet.getContext('2d')
  if (!ctx) return sheet
  ctx.fillStyle = colours.ground
  ctx.fillRect(0, 0, sheet.width, sheet.height)
  ctx.fillStyle = colours.ink
  const font = scaled(colours.font)
  ctx.font = `bold ${font}`
  ctx.fillText(head, gap, 30 * scale)
  for (const [i, { title, words, canvas }] of charts.entries()) {
    const x = gap + (i % 2) * (width + gap)
    const y = top + Math.floor(i / 2) * (height + gap)
    ctx.font = `bold ${font}`
    ctx.fillText(title, x, y + 14 * scale)
    ctx.font = font
    ctx.fillText(words, x, y + 32 * scale)
    ctx.drawImage(canvas, x, y + label)
  }
  return sheet
}
