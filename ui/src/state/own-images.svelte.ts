import { IMAGE_TYPES } from '../../../appliance/mail/image.ts'
import { readImage } from '../api/images.ts'

/** An image that this server shows to readers of emails, wherever they reach it. */
const OWN = new RegExp(
  String.raw`https?://[^\s"'<>()]{1,255}(/i/[0-9a-f]{64}\.(?:${Object.values(IMAGE_TYPES).join('|')}))(?![\w.-])`,
  'g',
)

/** The path of an image of this server, which the dashboard may show; null: it is somebody else's. */
export const ownImage = (src: string): string | null => [...src.matchAll(OWN)][0]?.[1] ?? null

/** HTML for a preview: images of this server are in it, as a preview loads nothing. @param html follows its changes */
export function withOwnImages(html: () => string): { readonly html: string } {
  let read = $state.raw<ReadonlyMap<string, string>>(new Map())
  const asked = new Set<string>()
  $effect(() => {
    for (const [, path] of html().matchAll(OWN)) {
      if (path === undefined || asked.has(path)) continue
      asked.add(path)
      readImage(path).then(
        (url) => (read = new Map(read).set(path, url)),
        // Readers won't see it either; the preview shows the gap.
        () => undefined,
      )
    }
  })
  return {
    get html() {
      return html().replaceAll(OWN, (url: string, path: string) => read.get(path) ?? url)
    },
  }
}
