/** Elements to remove from pasted or dropped HTML, which is untrusted. */

const ACTIVE =
  'script, style, meta, link, title, base, iframe, frame, object, embed, template, noscript, svg, math'
/** Attributes that the schema reads. The schema validates `data-` attributes itself. */
const READ = new Set(['href', 'src', 'alt'])

/**
 * Removes content that documents can't contain. The schema would drop it too, but the browser would first report event
 * handlers and styles as violations of the content security policy.
 */
export function cleanPastedHtml(html: string): string {
  // A parsed document runs no scripts and loads nothing.
  const { body } = new DOMParser().parseFromString(html, 'text/html')
  for (const element of body.querySelectorAll(ACTIVE)) element.remove()
  for (const element of body.querySelectorAll('*'))
    for (const { name } of [...element.attributes])
      if (!READ.has(name) && !name.startsWith('data-')) element.removeAttribute(name)
  return body.innerHTML
}
