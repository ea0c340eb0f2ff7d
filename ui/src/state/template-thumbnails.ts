/** The HTML of templates for thumbnails in lists. Each version is fetched once per session, one after the other. */
import { getTemplate } from '../api/templates.ts'
import { onCacheClear } from './resource.svelte.ts'
import { fillSampleValues } from './template-samples.ts'

/** Number of thumbnails to cache, more than one page of the list shows. */
const KEPT = 100
/** Maximum length of the HTML in characters. Larger documents take a browser too long to lay out for a thumbnail. */
const LARGEST = 200_000

const looks = new Map<string, Promise<string | null>>()
let last: Promise<unknown> = Promise.resolve()

onCacheClear(() => looks.clear())

/**
 * Returns the HTML of a template with sample values; null if it is too large or couldn't be fetched.
 * @param changed the template's `updated_at`; a new value fetches the template again
 */
export function loadTemplatePreview(id: string, changed: string): Promise<string | null> {
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
      return template.html.length > LARGEST ? null : fillSampleValues('html', template.html, template)
    } catch {
      // The list still shows the template's name. The next call retries.
      looks.delete(key)
      return null
    }
  })
  last = look
  return look
}
