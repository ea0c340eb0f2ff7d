import { describe, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type {
  ContactImport,
  ImportReject,
  ImportRow,
  NewContactImport,
  Storage,
} from '../../appliance/storage/storage.ts'
import { audienceStage, person } from './audience-stage.ts'
import { makeTeam, T0 } from './fixtures.ts'

/** Returns an import as first stored: a draft whose file has one header line. */
export const newImport = (teamId: string, more: Partial<NewContactImport> = {}): NewContactImport => ({
  id: newId(T0),
  teamId,
  status: 'draft',
  source: 'key',
  fileName: 'people.csv',
  fileSha256: 'ab12',
  bytes: 300,
  encoding: 'utf-8',
  separator: ',',
  columns: ['email', 'Name'],
  plan: null,
  onConflict: 'upsert',
  processed: 12,
  line: 2,
  createdAt: T0,
  ...more,
})

/** How the two columns map to contact fields. */
export const plan = {
  email: 0,
  firstName: 1,
  lastName: null,
  unsubscribed: null,
  properties: [],
  segmentIds: [],
  topics: [],
}

export const NO_COUNTS = {
  total: 0,
  created: 0,
  updated: 0,
  skipped: 0,
  failed: 0,
  duplicates: 0,
  kept: 0,
  rejects: 0,
}

const stored = (made: NewContactImport, more: Partial<ContactImport> = {}): ContactImport => ({
  ...made,
  counts: NO_COUNTS,
  error: null,
  completedAt: null,
  undone: 0,
  undoneAt: null,
  ...more,
})

/** Tests of contact imports: files, scheduling and rows. */
export function contactImportsContract(storage: () => Storage): void {
  describe('imports', () => stateTests(storage))
  describe('the order of imports', () => turnTests(storage))
  describe('rows', () => rowTests(storage))
  describe('undoing', () => undoTests(storage))
}

async function importStage(storage: Storage) {
  const { team } = await makeTeam(storage)
  const teamId = team.id
  const create = async (more: Partial<NewContactImport> = {}, now = T0): Promise<NewContactImport> => {
    const made = newImport(teamId, more)
    expect(await storage.createContactImport({ made, most: 10 }, now)).toBe(true)
    return made
  }
  const get = (id: string) => storage.getContactImport({ teamId, id }, T0)
  const start = (id: string, now = T0) =>
    storage.startContactImport({ teamId, id, plan, onConflict: 'skip' }, now)
  const list = async (more: object = {}) => {
    const { items, hasMore } = await storage.listContactImports({ teamId, limit: 10, ...more }, T0)
    return [items.map(({ id }) => id), hasMore]
  }
  return { teamId, create, get, start, list }
}

function stateTests(storage: () => Storage): void {
  test('a draft is stored, found by its team only, and started once', async () => {
    const { teamId, create, get, start } = await importStage(storage())
    const made = await create()
    expect(await get(made.id)).toEqual(stored(made))
    const theirs = { teamId: newId(T0), id: made.id }
    expect(await storage().getContactImport(theirs, T0)).toBeUndefined()
    expect(await storage().startContactImport({ ...theirs, plan, onConflict: 'skip' }, T0)).toBe(false)
    expect(await start(made.id)).toBe(true)
    expect(await start(made.id)).toBe(false)
    expect(await get(made.id)).toEqual(stored(made, { status: 'queued', plan, onConflict: 'skip' }))
    expect(await storage().deleteContactImport(theirs, T0)).toBe(false)
    expect(await storage().deleteContactImport({ teamId, id: made.id }, T0)).toBe(true)
    expect(await storage().deleteContactImport({ teamId, id: made.id }, T0)).toBe(false)
    expect(await get(made.id)).toBeUndefined()
  })

  test('limits a team’s unfinished imports, and does not delete a started import', async () => {
    const { teamId, create, get } = await importStage(storage())
    const one = await create({ status: 'in_progress', plan })
    const [second, third] = [newImport(teamId), newImport(teamId)]
    expect(await storage().createContactImport({ made: second, most: 1 }, T0)).toBe(false)
    expect(await storage().deleteContactImport({ teamId, id: one.id }, T0)).toBe(false)
    await storage().finishContactImport({ id: one.id, error: null }, T0 + 7)
    await storage().finishContactImport({ id: one.id, error: 'Too late.' }, T0 + 8)
    expect(await get(one.id)).toEqual(stored(one, { status: 'completed', completedAt: T0 + 7 }))
    expect(await storage().createContactImport({ made: second, most: 1 }, T0)).toBe(true)
    expect(await storage().createContactImport({ made: third, most: 1 }, T0)).toBe(false)
    const failed = await create({ status: 'queued', plan })
    await storage().finishContactImport({ id: failed.id, error: 'The file is gone.' }, T0 + 9)
    expect(await get(failed.id)).toEqual(
      stored(failed, { status: 'failed', error: 'The file is gone.', completedAt: T0 + 9 }),
    )
  })

  test('lists imports newest first without drafts, and by status', async () => {
    const { create, list } = await importStage(storage())
    const [done, draft] = [await create({ status: 'completed', plan }), await create()]
    const [first, second] = [await create({ status: 'queued' }), await create({ status: 'queued' })]
    expect(await list()).toEqual([[second.id, first.id, done.id], false])
    expect(await list({ limit: 2 })).toEqual([[second.id, first.id], true])
    expect(await list({ limit: 2, after: first.id })).toEqual([[done.id], false])
    expect(await list({ status: 'queued' })).toEqual([[second.id, first.id], false])
    expect(await list({ status: 'failed' })).toEqual([[], false])
    const open = new Set(await storage().openContactImports({}, T0))
    expect([done, draft, first].map(({ id }) => open.has(id))).toEqual([false, true, true])
    for (const { id } of [first, second]) await storage().finishContactImport({ id, error: null }, T0)
  })
}

function turnTests(storage: () => Storage): void {
  test('imports of several teams run in turns, and those of one team in order', async () => {
    const [one, two] = [await importStage(storage()), await importStage(storage())]
    expect(await storage().nextContactImport({ among: ['none'] }, T0)).toBeUndefined()
    expect(await storage().nextContactImport({ among: [] }, T0)).toBeUndefined()
    const next = async () => (await storage().nextContactImport({}, T0))?.id
    expect(await next()).toBeUndefined()
    const queued = { status: 'queued' as const, plan }
    const first = await one.create(queued, T0)
    const second = await one.create(queued, T0 + 1)
    expect(await storage().otherImportsWait({ teamId: one.teamId }, T0)).toBe(false)
    const theirs = await two.create(queued, T0 + 2)
    expect(await storage().otherImportsWait({ teamId: one.teamId }, T0)).toBe(true)
    expect(await storage().nextContactImport({}, T0)).toEqual(stored(first, { status: 'in_progress' }))
    expect(await one.get(first.id)).toEqual(stored(first, { status: 'in_progress' }))
    expect(await next()).toBe(first.id)
    await storage().endImportTurn({ teamId: one.teamId }, T0 + 3)
    expect(await next()).toBe(theirs.id)
    await storage().endImportTurn({ teamId: two.teamId }, T0 + 4)
    expect(await next()).toBe(first.id)
    await storage().finishContactImport({ id: first.id, error: null }, T0 + 5)
    expect(await next()).toBe(second.id)
    await storage().finishContactImport({ id: second.id, error: null }, T0 + 6)
    await storage().finishContactImport({ id: theirs.id, error: null }, T0 + 7)
    expect(await next()).toBeUndefined()
  })
}

function rowTests(storage: () => Storage): void {
  test('writes the contacts, counts and rejected rows of a batch once', async () => {
    const { teamId, create, get } = await importStage(storage())
    const made = await create({ status: 'in_progress', plan })
    const rejects = [
      { line: 4, reason: 'Not an address.', cells: ['nobody', 'Eve'] },
      { line: 7, reason: 'Not an address.', cells: ['', ''] },
    ]
    const rows = [
      { email: 'ada@example.com', firstName: 'Ada' },
      { email: 'Ada@example.com', firstName: 'Augusta', again: true as const },
      { email: 'eve@example.com', unsubscribed: true as const },
    ]
    const batch = { id: made.id, teamId, from: 12, to: 90, line: 8, total: 5, rows, failed: rejects }
    expect(await storage().writeImportRows({ ...batch, from: 11 }, T0)).toBe('elsewhere')
    expect(await storage().writeImportRows(batch, T0 + 1)).toBe('written')
    expect(await storage().writeImportRows(batch, T0 + 2)).toBe('elsewhere')
    const counts = { ...NO_COUNTS, total: 5, created: 2, skipped: 1, failed: 2, duplicates: 1, rejects: 2 }
    expect(await get(made.id)).toEqual(
      stored(made, { status: 'in_progress', processed: 90, line: 8, counts }),
    )
    expect(await storage().countContacts({ teamId }, T0)).toEqual({ contacts: 2, unsubscribed: 1 })
    const today = { date: '2026-01-01', created: 2, unsubscribed: 1 }
    expect(await storage().audienceDays({ teamId, days: 1 }, T0)).toEqual([today])
    const ada = await storage().getContact({ teamId, ref: { email: 'ada@example.com' } }, T0)
    expect(ada).toMatchObject({ firstName: 'Augusta', createdBy: 'import', createdFrom: made.id })
    const listed = (more: object) =>
      storage().listImportRejects({ teamId, id: made.id, after: 0, limit: 9, ...more }, T0)
    expect(await listed({})).toEqual(rejects)
    expect(await listed({ limit: 1 })).toEqual([rejects[0]])
    expect(await listed({ after: 4 })).toEqual([rejects[1]])
    expect(await listed({ teamId: newId(T0) })).toEqual([])
    await storage().finishContactImport({ id: made.id, error: null }, T0 + 30)
    const rest = { ...batch, from: 90, to: 99, rows: [], failed: [] }
    expect(await storage().writeImportRows(rest, T0 + 4)).toBe('elsewhere')
  })

  test('a large batch writes each contact once, and later rows for an address win', async () => {
    const { teamId, add, get, counts } = await audienceStage(storage())
    const known = await add({ firstName: 'Old', lastName: 'Lovelace', properties: { k1: 'a' } })
    const made = newImport(teamId, { status: 'in_progress', plan })
    await storage().createContactImport({ made, most: 10 }, T0)
    const fresh: ImportRow[] = Array.from({ length: 120 }, (_, n) => ({ email: `p${n}@batch.example` }))
    const again = { again: true as const }
    const rows: ImportRow[] = [
      ...fresh,
      { email: known.email, firstName: 'Ada' },
      { email: 'P7@batch.example', firstName: 'Eve', properties: { k1: 'x', k2: 2 }, ...again },
      { email: 'p7@batch.example', properties: { k2: 3 }, unsubscribed: true, ...again },
      { email: known.email.toUpperCase(), properties: { k2: 'b' }, unsubscribed: true, ...again },
    ]
    const batch = { id: made.id, teamId, from: 12, to: 9000, line: 126, total: 124, rows, failed: [] }
    expect(await storage().writeImportRows(batch, T0 + 1)).toBe('written')
    const after = await storage().getContactImport({ teamId, id: made.id }, T0)
    const numbers = { total: 124, created: 120, updated: 1, skipped: 3, duplicates: 3 }
    expect(after?.counts).toEqual({ ...NO_COUNTS, ...numbers })
    expect(await counts()).toEqual({ contacts: 121, unsubscribed: 2 })
    const optOut = { at: T0 + 1, origin: 'import' }
    expect(await get(known.id)).toMatchObject({
      firstName: 'Ada',
      lastName: 'Lovelace',
      properties: { k1: 'a', k2: 'b' },
      optOut,
    })
    const find = (email: string) => storage().getContact({ teamId, ref: { email } }, T0)
    const [first, seventh, last] = [
      await find('p0@batch.example'),
      await find('p7@batch.example'),
      await find('p119@batch.example'),
    ]
    expect(first).toMatchObject({ firstName: null, properties: {}, optOut: null })
    expect(seventh).toMatchObject({ firstName: 'Eve', properties: { k1: 'x', k2: 3 }, optOut })
    expect(last).toMatchObject({ createdBy: 'import', createdFrom: made.id, createdAt: T0 + 1 })
    await storage().finishContactImport({ id: made.id, error: null }, T0)
  })

  test('removes only old drafts and old lists of rejected rows', async () => {
    const { teamId, create, get } = await importStage(storage())
    const [old, fresh] = [await create(), await create({ createdAt: T0 + 5 })]
    const failed = [{ line: 2, reason: 'Not an address.', cells: ['x'] }]
    const finish = async (at: number) => {
      const { id } = await create({ status: 'in_progress', plan, createdAt: T0 + 5 })
      const batch = { id, teamId, from: 12, to: 20, line: 3, total: 1, rows: [], failed }
      await storage().writeImportRows(batch, T0)
      await storage().finishContactImport({ id, error: null }, at)
      return id
    }
    const [before, after] = [await finish(T0 + 1), await finish(T0 + 9)]
    const sweep = () => storage().sweepContactImports({ drafts: T0 + 5, rejects: T0 + 5 }, T0)
    expect([await sweep(), await sweep()]).toEqual([true, false])
    expect([await get(old.id), (await get(fresh.id))?.status]).toEqual([undefined, 'draft'])
    const rejectsOf = async (id: string) =>
      (await storage().listImportRejects({ teamId, id, after: 0, limit: 9 }, T0)).length
    expect([await rejectsOf(before), await rejectsOf(after)]).toEqual([0, 1])
    expect((await get(before))?.counts).toEqual({ ...NO_COUNTS, total: 1, failed: 1 })
    expect((await get(after))?.counts).toEqual({ ...NO_COUNTS, total: 1, failed: 1, rejects: 1 })
  })

  test('looks up contacts and opt-outs by address before an import', async () => {
    const { teamId, add, remove } = await audienceStage(storage())
    const [ada, eve] = [await add(), await add({ unsubscribed: true })]
    const gone = await add({ unsubscribed: true }, person)
    const emails = [eve.email.toUpperCase(), 'new@example.com', gone.email, ada.email]
    const known = () => storage().optOutsOf({ teamId, emails }, T0)
    const out = { contact: true, unsubscribed: true }
    const [fresh, subscribed] = [
      { contact: false, unsubscribed: false },
      { contact: true, unsubscribed: false },
    ]
    expect(await known()).toEqual([out, fresh, out, subscribed])
    await remove(gone.id)
    expect(await known()).toEqual([out, fresh, { contact: false, unsubscribed: true }, subscribed])
    expect(await storage().optOutsOf({ teamId: newId(T0), emails: [ada.email] }, T0)).toEqual([fresh])
  })

  test('erasing an address removes its rejected rows, and skips it in files that are still importing', async () => {
    const { teamId, create, get } = await importStage(storage())
    const address = 'ada@example.com'
    const early = await create({ status: 'in_progress', plan })
    const reject = (line: number, cell: string) => ({ line, reason: 'Not an address.', cells: [cell, 'x'] })
    const failed = [reject(2, `Ada <${address.toUpperCase()}>`), reject(3, 'notada@example.com')]
    const write = (id: string, rows: ImportRow[], more: ImportReject[], from = 12) =>
      storage().writeImportRows(
        { id, teamId, from, to: from + 9, line: 4, total: 3, rows, failed: more },
        T0 + 1,
      )
    expect(await write(early.id, [{ email: address }], failed)).toBe('written')
    const actor = { name: 'root', kind: 'command' as const, ip: null }
    const { id } = await storage().beginErasure({ id: newId(T0), teamId, address, actor }, T0 + 2)
    let erasure = await storage().eraseStep({ id }, T0 + 2)
    while (erasure?.finishedAt === null) erasure = await storage().eraseStep({ id }, T0 + 2)
    expect(erasure?.counts).toMatchObject({ contacts: 1, import_rejects: 1 })
    const rejects = (importId: string) =>
      storage().listImportRejects({ teamId, id: importId, after: 0, limit: 9 }, T0)
    expect(await rejects(early.id)).toEqual([failed[1]])
    expect((await get(early.id))?.counts).toMatchObject({ created: 1, rejects: 1 })

    const rows = [{ email: 'ADA@example.com', firstName: 'Ada' }, { email: 'eve@example.com' }]
    const more = [reject(5, address), reject(6, 'nobody')]
    expect(await write(early.id, rows, more, 21)).toBe('written')
    expect((await get(early.id))?.counts).toMatchObject({ created: 2, skipped: 1, failed: 4, rejects: 2 })
    expect(await rejects(early.id)).toEqual([failed[1], more[1]])
    expect(await storage().getContact({ teamId, ref: { email: address } }, T0)).toBeUndefined()

    const later = await create({ status: 'in_progress', plan, createdAt: T0 + 3 })
    expect(await write(later.id, rows, [])).toBe('written')
    expect(await storage().getContact({ teamId, ref: { email: address } }, T0)).toMatchObject({
      firstName: 'Ada',
    })
    for (const one of [early, later]) await storage().finishContactImport({ id: one.id, error: null }, T0 + 9)
  })

  test('an import lifts no opt-out, and reports how many it kept', async () => {
    const { teamId, add, get } = await audienceStage(storage())
    const ada = await add({ unsubscribed: true }, person)
    const made = newImport(teamId, { status: 'in_progress', plan })
    await storage().createContactImport({ made, most: 10 }, T0)
    const rows = [{ email: ada.email, firstName: 'Ada' }]
    const batch = { id: made.id, teamId, from: 12, to: 40, line: 3, total: 1, rows, failed: [] }
    expect(await storage().writeImportRows(batch, T0 + 1)).toBe('written')
    expect(await get(ada.id)).toEqual({ ...ada, firstName: 'Ada', updatedAt: T0 + 1 })
    const after = await storage().getContactImport({ teamId, id: made.id }, T0)
    expect(after?.counts).toEqual({ ...NO_COUNTS, total: 1, updated: 1, kept: 1 })
    await storage().finishContactImport({ id: made.id, error: null }, T0)
  })
}

function undoTests(storage: () => Storage): void {
  test('removes the created contacts in steps, and keeps updated contacts and opt-outs', async () => {
    const { teamId, add, counts } = await audienceStage(storage())
    const known = await add({ email: 'known@undo.example' })
    const made = newImport(teamId, { status: 'in_progress', plan })
    await storage().createContactImport({ made, most: 10 }, T0)
    const emails = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}@undo.example`)
    const rows = [...emails, known.email].map((email) => ({ email, firstName: 'New' }))
    const batch = { id: made.id, teamId, from: 12, to: 99, line: 8, total: 6, rows, failed: [] }
    expect(await storage().writeImportRows(batch, T0 + 1)).toBe('written')
    const undo = (limit: number, since = T0) =>
      storage().undoContactImport({ teamId, id: made.id, since, limit }, T0 + 9)
    expect(await undo(2)).toBe('closed')
    await storage().finishContactImport({ id: made.id, error: null }, T0 + 2)
    expect(await undo(2, T0 + 3)).toBe('closed')
    expect(
      await storage().undoContactImport({ teamId: newId(T0), id: made.id, since: T0, limit: 2 }, T0 + 9),
    ).toBe('closed')
    const find = (email: string) => storage().getContact({ teamId, ref: { email } }, T0)
    const left = await find(emails[0]!)
    const change = { unsubscribed: true }
    await storage().updateContact({ teamId, ref: { id: left!.id }, change, act: person }, T0 + 4)

    expect(await undo(2)).toEqual({ removed: 2, done: false })
    expect(await undo(2)).toEqual({ removed: 2, done: false })
    expect(await storage().getContactImport({ teamId, id: made.id }, T0)).toMatchObject({
      undone: 4,
      undoneAt: null,
    })
    expect(await undo(2)).toEqual({ removed: 1, done: true })
    expect(await undo(2)).toBe('closed')
    expect(await storage().getContactImport({ teamId, id: made.id }, T0)).toMatchObject({
      undone: 5,
      undoneAt: T0 + 9,
    })
    expect(await find(known.email)).toMatchObject({ id: known.id, firstName: 'New' })
    expect(await counts()).toEqual({ contacts: 1, unsubscribed: 0 })
    expect((await add({ email: emails[0]! })).optOut).toMatchObject({ origin: 'person' })
    expect((await add({ email: emails[1]! })).optOut).toBeNull()
  })
}
