/** Settings of a team's public archive of broadcasts, and its URLs. Pure; also used by the dashboard. */

/** Whether the archive is public. */
export const ARCHIVE_STATUSES = ['enabled', 'disabled'] as const
export type ArchiveStatus = (typeof ARCHIVE_STATUSES)[number]

/** The settings of an archive, which the team chooses. */
export interface ArchiveSettings {
  status: ArchiveStatus
  /** Part of its URL, unique on this server; null until the archive is first enabled. */
  slug: string | null
  /** Null for the team's name. */
  title: string | null
  /** Text below the title. */
  description: string | null
  /** The domain whose tracking host is in its URL; null for this server's own host. */
  domain: string | null
  /** The sign-up form that its pages link to; null for no link. */
  formId: string | null
  /** Whether search engines may list its pages. */
  indexed: boolean
}

export interface Archive extends ArchiveSettings {
  teamId: string
  /** Unix milliseconds; null if it was never changed. */
  updatedAt: number | null
}

/** An archive with its URLs, which are null if it is disabled or the server has no public address. */
export interface ArchiveDetails extends Archive {
  url: string | null
  feedUrl: string | null
}

/** The archive of a team that never changed it. */
export const DEFAULT_ARCHIVE: ArchiveSettings = {
  status: 'disabled',
  slug: null,
  title: null,
  description: null,
  domain: null,
  formId: null,
  indexed: true,
}

/** Maximum lengths in characters, and the minimum of a slug. */
export const ARCHIVE_LIMITS = { title: 100, description: 500, slug: 50, shortestSlug: 3 }

/** URL path of archives. */
export const ARCHIVE_PATH = '/a/'
/** Name of the feed, after the archive's path. */
export const FEED_NAME = 'feed.xml'

const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/

/** Reports whether a text can be an archive's slug: `acme-news`. */
export const isSlug = (text: string): boolean =>
  text.length >= ARCHIVE_LIMITS.shortestSlug && text.length <= ARCHIVE_LIMITS.slug && SLUG.test(text)

/**
 * Proposes a slug for a name: `Café & Co.` becomes `cafe-co`. Names without any letter of the Latin alphabet become
 * `archive`.
 */
export function slugOf(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, ARCHIVE_LIMITS.slug - 6)
    .replaceAll(/^-|-$/g, '')
  return isSlug(plain) ? plain : 'archive'
}

/** Returns the path of an archive; with the id of a broadcast, of its page. */
export const archivePath = (slug: string, broadcastId = ''): string =>
  `${ARCHIVE_PATH}${slug}${broadcastId === '' ? '' : `/${broadcastId}`}`
