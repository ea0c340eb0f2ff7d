/** Compiles the editor's documents to emails. Pure; the server and the dashboard share this folder. */
import { renderBlocks } from './blocks.ts'
import {
  renderLayoutBox,
  formatStyle,
  element,
  escapeHtml,
  wrapForWord,
  openWordTable,
  wordTableEnd,
} from './html.ts'
import {
  getFontStyles,
  type RenderContext,
  createRenderContext,
  renderStyleSheets,
  WORD_STYLE,
} from './theme-styles.ts'
import type { EmailDocument } from './model.ts'
import { renderText } from './text.ts'
import { PADDING } from './theme.ts'

export { checkDocument } from './check.ts'
export type { EmailDocument } from './model.ts'

/** The result of compiling. Both parts still contain their merge tags. */
export interface CompiledParts {
  html: string
  text: string
}

/** Invisible characters. Without them, inboxes would fill the preview with the first words of the email. */
const FILLER = '&#847;&zwnj;&nbsp;'.repeat(60)

const DOCTYPE =
  '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">'

const NAMESPACES = {
  xmlns: 'http://www.w3.org/1999/xhtml',
  'xmlns:v': 'urn:schemas-microsoft-com:vml',
  'xmlns:o': 'urn:schemas-microsoft-com:office:office',
  'xmlns:w': 'urn:schemas-microsoft-com:office:word',
}

/** Sets the resolution that Word scales by. Otherwise, images change their size on large screens. */
const OFFICE =
  '<xml><o:OfficeDocumentSettings><o:PixelsPerInch>96</o:PixelsPerInch></o:OfficeDocumentSettings></xml>'

function head({ theme }: EmailDocument, title: string): string {
  const schemes = theme.dark ? 'light dark' : 'light'
  const meta = (name: string, content: string): string => element('meta', { name, content })
  return element(
    'head',
    {},
    '<meta http-equiv="Content-Type" content="text/html; charset=utf-8" />' +
      meta('viewport', 'width=device-width, initial-scale=1') +
      meta('x-apple-disable-message-reformatting', '') +
      meta('format-detection', 'telephone=no,date=no,address=no,email=no,url=no') +
      meta('color-scheme', schemes) +
      meta('supported-color-schemes', schemes) +
      element('title', {}, escapeHtml(title)) +
      wrapForWord(OFFICE + WORD_STYLE) +
      renderStyleSheets(theme),
  )
}

function preheader(text: string): string {
  if (text === '') return ''
  const style = formatStyle({
    display: 'none',
    'font-size': '1px',
    'line-height': '1px',
    'max-height': '0',
    'max-width': '0',
    overflow: 'hidden',
    'mso-hide': 'all',
  })
  return element('div', { style }, escapeHtml(text) + FILLER)
}

function body(document: EmailDocument, look: RenderContext): string {
  const { theme, direction, language, content } = document
  const sheet = renderLayoutBox(
    { width: '100%', class: 'surface', bgcolor: theme.surface, style: `max-width:${theme.width}px` },
    {
      class: 'pad ink',
      align: direction === 'rtl' ? 'right' : 'left',
      style: formatStyle({ ...getFontStyles(look), padding: `${PADDING}px`, 'word-break': 'break-word' }),
    },
    renderBlocks(content, look),
  )
  const widths = openWordTable({ align: 'center', width: theme.width }, {}) + sheet + wordTableEnd
  const page = renderLayoutBox(
    { width: '100%', class: 'bg', bgcolor: theme.background, dir: direction, lang: language },
    { align: 'center', style: 'padding:24px 8px' },
    widths,
  )
  const style = formatStyle({ margin: '0', padding: '0', 'background-color': theme.background })
  return element('body', { class: 'bg', style }, preheader(document.preheader) + page)
}

/**
 * Compiles a document to HTML and text. The document must have passed `checkDocument`, so that nothing in it can break
 * out of its context.
 * @param title the subject, as the page title for readers that show one
 */
export function compileDocument(document: EmailDocument, title = ''): CompiledParts {
  const look = createRenderContext(document.theme, document.direction)
  const html = { lang: document.language, dir: document.direction, ...NAMESPACES }
  return {
    html: DOCTYPE + element('html', html, head(document, title) + body(document, look)),
    text: renderText(document.content),
  }
}
