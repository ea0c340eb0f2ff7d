/** The HTML of templates for small renderings in lists. Each version is read once in a session, one after the other. */
import { getTemplate } from '../api/templates.ts'
import { alsoForget } from './resource.svelte.ts'
import { sampled } from './template-samples.ts'

/** Renderings to keep, more than a page of the list has. */
const KEPT = 100
/** Characters of HTML. A browser needs long to lay out more, for a picture of a thumb's size. */
const LARGEST = 200_000

const looks = new Map<string, Promise<string | null>>()
let last: Promise<unknown> = Promise.resolve()

alsoForget(() => looks.clear())

/**
 * Returns the HTML of a template with sample values; null if it is too large or couldn't be read.
 * @param changed its `updated_at`: another one is read again
 */
export function templateLook(id: string, changed: string): Promise<string | null> {
  const key = `${id} ${changed}`
  const known = looks.get(key)
  const look = known ?? read(id, key)
  looks.delete(key)
  looks.set(key, look)
  const oldest = looks.size > KEPT ? looks.keys().next().value : undefined
  if (oldest !== undefined) looks.delete(oldest)
  return look
}

function read(id: string, key: string): Promise<string | null> {
  const look = last.then(async () => {
    try {
      const template = await getTemplate(id)
      return template.html.length > LARGEST ? null : sampled('html', template.html, template)
    } catch {
      // The list still has the name. The next look at it tries again.
      looks.delete(key)
      return null
    }
  })
  last = look
  return look
}
