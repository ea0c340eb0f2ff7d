/** Images in emails: what they are called, and their bounds. Pure; the dashboard uses it, too. */

/** Types of images that all mail clients show, with the endings of their names. SVG is none: it can have scripts. */
export const IMAGE_TYPES = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
} as const
export type ImageType = keyof typeof IMAGE_TYPES

/** Octets of one image, pixels of its longest side and in all, and octets of all images of a team. */
export const MAX_IMAGE = {
  bytes: 2 * 1024 * 1024,
  side: 6000,
  pixels: 25_000_000,
  teamBytes: 256 * 1024 * 1024,
}

/** What an image is, beside its bytes. */
export interface ImageInfo {
  /** SHA-256 of its bytes, in hex. */
  id: string
  type: ImageType
  /** Pixels. */
  width: number
  height: number
  bytes: number
  createdAt: number
}

/** Where an image is served. */
export const imagePath = ({ id, type }: Pick<ImageInfo, 'id' | 'type'>): string =>
  `/i/${id}.${IMAGE_TYPES[type]}`

const PATH = /\/i\/([0-9a-f]{64})\.(?:png|jpg|gif|webp)(?![\w.-])/g

/** The images that a text names, by their ids: a document as JSON, or HTML. */
export const imagesIn = (text: string): string[] => [
  ...new Set([...text.matchAll(PATH)].map(([, id]) => id!)),
]
