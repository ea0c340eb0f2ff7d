import { IMAGE_TYPES } from '../../../appliance/mail/image.ts'
import { loadImage } from '../api/images.ts'

/** Matches image URLs of this server, with any host name. */
const OWN = new RegExp(
  String.raw`https?://[^\s"'<>()]{1,255}(/i/[0-9a-f]{64}\.(?:${Object.values(IMAGE_TYPES).join('|')}))(?![\w.-])`,
  'g',
)

/** Returns the path of an image on this server, which the dashboard may show; null for other images. */
export const getServerImagePath = (src: string): string | null => [...src.matchAll(OWN)][0]?.[1] ?? null

/**
 * Embeds this server's images in HTML for a preview, which can't load anything.
 * @param html a reactive getter
 */
export function embedServerImages(html: () => string): { readonly html: string } {
  let read = $state.raw<ReadonlyMap<string, string>>(new Map())
  const asked = new Set<string>()
  $effect(() => {
    for (const [, path] of html().matchAll(OWN)) {
      if (path === undefined || asked.has(path)) continue
      asked.add(path)
      loadImage(path).then(
        (url) => (read = new Map(read).set(path, url)),
        // Readers of the email can't see the image either, so the preview shows a gap.
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
