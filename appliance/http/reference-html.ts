/** HTML out of texts. Pure. */

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A text as it stands between tags and in attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character]!)
}

/** A line of text in which only code between backticks is marked. */
export function inline(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}

/** Paragraphs and `## headings`: the little Markdown of our own texts. */
export function blocks(text: string): string {
  return text
    .split(/\n+/)
    .filter((line) => line !== '')
    .map((line) => (line.startsWith('## ') ? `<h3>${inline(line.slice(3))}</h3>` : `<p>${inline(line)}</p>`))
    .join('\n')
}

/** JSON on several lines. */
export const codeBlock = (text: string): string => `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>`
