/** The theme and the available width for rendering blocks. */
import { formatStyle } from './html.ts'
import { FONTS, PADDING, type Theme } from './theme.ts'

export interface RenderContext {
  theme: Theme
  direction: 'ltr' | 'rtl'
  /** Available width in pixels. */
  room: number
}

export const createRenderContext = (theme: Theme, direction: 'ltr' | 'rtl'): RenderContext => ({
  theme,
  direction,
  room: theme.width - 2 * PADDING,
})

/** Returns the alignment. `start` is right in a right-to-left document. */
export const resolveAlignment = (align: unknown, { direction }: RenderContext): string => {
  if (align !== 'left') return String(align)
  return direction === 'rtl' ? 'right' : 'left'
}

/** Returns the font styles of a cell, because some readers don't let tables inherit them. */
export const getFontStyles = ({ theme }: RenderContext): Record<string, string> => ({
  'font-family': FONTS[theme.font],
  'font-size': `${theme.fontSize}px`,
  'line-height': '1.5',
  color: theme.text,
})

/** Space below a block, in pixels. */
export const BLOCK_GAP = 16

/**
 * Returns the style sheets for the head. Gmail ignores a whole sheet that contains anything it doesn't support, so
 * there are three.
 */
export function renderStyleSheets({ dark }: Theme): string {
  const base =
    'body{margin:0;padding:0}img{border:0}' +
    '@media (max-width:480px){.col{max-width:100%!important}.pad{padding:20px!important}}'
  if (!dark) return sheet(':root{color-scheme:light}') + sheet(base)
  const rules = (prefix: string, property: 'color' | 'background-color', names: [string, string][]): string =>
    names.map(([name, value]) => `${prefix}.${name}{${property}:${value}!important}`).join('')
  const grounds: [string, string][] = [
    ['bg', dark.background],
    ['surface', dark.surface],
  ]
  const inks: [string, string][] = [
    ['ink', dark.text],
    ['link', dark.link],
  ]
  const images = '.light{display:none!important}.dark{display:block!important;max-height:none!important}'
  return [
    ':root{color-scheme:light dark}',
    base,
    `@media (prefers-color-scheme:dark){${rules('', 'background-color', grounds)}${rules('', 'color', inks)}${images}}`,
    // Outlook.com and the new Outlook set these attributes on elements that they darken.
    rules('[data-ogsb] ', 'background-color', grounds) + rules('[data-ogsc] ', 'color', inks),
  ]
    .map(sheet)
    .join('')
}

const sheet = (rules: string): string => `<style>${rules}</style>`

/** Word uses Times for unknown fonts, and adds space around tables. */
export const WORD_STYLE = `<style>table{border-collapse:collapse}td,th,div,p,a,h1,h2,h3{${formatStyle({ 'font-family': 'Arial,sans-serif', 'mso-line-height-rule': 'exactly' })}}</style>`
