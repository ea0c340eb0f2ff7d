/** HTML that is pasted or dropped: a stranger's. */

const ACTIVE =
  'script, style, meta, link, title, base, iframe, frame, object, embed, template, noscript, svg, math'
/** Attributes that the schema reads; `data-` ones are checked there. */
const READ = new Set(['href', 'src', 'alt'])

/**
 * Takes out what documents can't have. The schema would drop it too; but handlers and styles are refused by the content security policy
 * as soon as the browser sees them.
 */
export function cleanPasted(html: string): string {
  // Nothing in such a document is run or loaded.
  const { body } = new DOMParser().parseFromString(html, 'text/html')
  for (const element of body.querySelectorAll(ACTIVE)) element.remove()
  for (const element of body.querySelectorAll('*'))
    for (const { name } of [...element.attributes])
      if (!READ.has(name) && !name.startsWith('data-')) element.removeAttribute(name)
  return body.innerHTML
}
