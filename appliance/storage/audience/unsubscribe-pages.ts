/** The appearance of teams' preference pages. */
import {
  DEFAULT_PAGE,
  type PageLanguage,
  findLowContrastColor,
  type UnsubscribePage,
} from '../../mail/unsubscribe-page.ts'
import type { Db } from '../schema.ts'

/** A change to a page. Undefined fields and missing languages are left unchanged. Null removes a language's texts. */
export type UnsubscribePageChange = Partial<Omit<UnsubscribePage, 'words' | 'updatedAt'>> & {
  words?: Partial<Record<PageLanguage, UnsubscribePage['words'][PageLanguage] | null>>
}

/** Returns the page of a team, or the default page if none is stored. */
async function getUnsubscribePage(db: Db, { teamId }: { teamId: string }): Promise<UnsubscribePage> {
  const row = await db
    .selectFrom('unsubscribe_pages')
    .selectAll()
    .where('team_id', '=', teamId)
    .executeTakeFirst()
  if (!row) return DEFAULT_PAGE
  return {
    words: JSON.parse(row.words) as UnsubscribePage['words'],
    defaultLanguage: row.default_language,
    background: row.background_color,
    text: row.text_color,
    accent: row.accent_color,
    logo: row.logo,
    postalAddress: row.postal_address,
    updatedAt: row.updated_at,
  }
}

function merge(page: UnsubscribePage, { words = {}, ...change }: UnsubscribePageChange): UnsubscribePage {
  const given = Object.entries({ ...page.words, ...words }).filter(([, own]) => own !== null)
  return { ...page, ...change, words: Object.fromEntries(given) }
}

/**
 * Changes the page of a team. If a color has too little contrast, stores nothing and returns the name of the color
 * (`findLowContrastColor`).
 */
async function updateUnsubscribePage(
  db: Db,
  { teamId, change }: { teamId: string; change: UnsubscribePageChange },
  now: number,
): Promise<UnsubscribePage | 'text' | 'accent'> {
  const page = { ...merge(await getUnsubscribePage(db, { teamId }), change), updatedAt: now }
  const faint = findLowContrastColor(page)
  if (faint) return faint
  const row = {
    words: JSON.stringify(page.words),
    default_language: page.defaultLanguage,
    background_color: page.background,
    text_color: page.text,
    accent_color: page.accent,
    logo: page.logo,
    postal_address: page.postalAddress,
    updated_at: page.updatedAt,
  }
  await db
    .insertInto('unsubscribe_pages')
    .values({ team_id: teamId, ...row })
    .onConflict((conflict) => conflict.column('team_id').doUpdateSet(row))
    .execute()
  return page
}

export const methods = {
  reads: { getUnsubscribePage },
  writes: { updateUnsubscribePage },
}
