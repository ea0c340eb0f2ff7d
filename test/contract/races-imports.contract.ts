import { describe, expect } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { audienceStage, explicit, person } from './audience-stage.ts'
import { newImport, NO_COUNTS, plan } from './contact-imports.contract.ts'
import { T0, unique } from './fixtures.ts'
import { sorted, type Racing } from './racing.ts'

/** Races about imports, bulk changes of contacts, and preferences. */
export function racesOfImports(race: Racing): void {
  describe('imports', () => importRaces(race))
  describe('rows of imports', () => rowRaces(race))
  describe('preferences', () => preferenceRaces(race))
}

async function stage(storage: Storage) {
  const all = await audienceStage(storage)
  const { teamId } = all
  const create = async (more: Parameters<typeof newImport>[1] = {}) => {
    const made = newImport(teamId, more)
    await storage.createContactImport({ made, most: 99 }, T0)
    return made
  }
  const getImport = (id: string) => storage.getContactImport({ teamId, id }, T0)
  return { ...all, create, getImport }
}

function importRaces(race: Racing): void {
  race('limits the imports of a team', async ({ storage, atOnce }) => {
    const { teamId } = await stage(storage)
    const create = (at: Storage) => at.createContactImport({ made: newImport(teamId), most: 1 }, T0)
    expect(sorted(await atOnce(create, create))).toEqual(['false', 'true'])
  })

  race('a draft is started once, or deleted', async ({ storage, atOnce }) => {
    const { teamId, create, getImport } = await stage(storage)
    const { id } = await create()
    const start = (at: Storage) => at.startContactImport({ teamId, id, plan, onConflict: 'upsert' }, T0)
    expect(sorted(await atOnce(start, start))).toEqual(['false', 'true'])
    expect((await getImport(id))?.status).toBe('queued')
    await storage.deleteContactImport({ teamId, id }, T0)
    const swept = await create({ createdAt: T0 - 9 })
    const sweep = (at: Storage) => at.sweepContactImports({ drafts: T0, rejects: 0 }, T0)
    const begin = (at: Storage) =>
      at.startContactImport({ teamId, id: swept.id, plan, onConflict: 'upsert' }, T0)
    const [started] = await atOnce(begin, sweep)
    expect((await getImport(swept.id))?.status).toBe(started ? 'queued' : undefined)
    await storage.deleteContactImport({ teamId, id: swept.id }, T0)
  })

  race('a queued import begins or is deleted, but not both', async ({ storage, atOnce }) => {
    const { teamId, create, getImport } = await stage(storage)
    const { id } = await create({ status: 'queued', plan })
    const [begun, deleted] = await atOnce(
      (at) => at.nextContactImport({}, T0),
      (at) => at.deleteContactImport({ teamId, id }, T0),
    )
    expect([begun?.id, deleted]).toEqual(begun ? [id, false] : [undefined, true])
    expect((await getImport(id))?.status).toBe(begun ? 'in_progress' : undefined)
    await storage.finishContactImport({ id, error: null }, T0)
  })

  race('an import finishes once, and stays finished when its turn ends', async (round) => {
    const { storage, atOnce } = round
    const { teamId, create, getImport } = await stage(storage)
    const { id } = await create({ status: 'in_progress', plan })
    const finish = (error: string | null) => (at: Storage) => at.finishContactImport({ id, error }, T0 + 1)
    await atOnce(finish(null), finish('Failed.'))
    const first = await getImport(id)
    expect([first?.status, first?.error]).toEqual(
      first?.error === null ? ['completed', null] : ['failed', 'Failed.'],
    )
    await atOnce((at) => at.endImportTurn({ teamId }, T0), finish('Late.'))
    expect(await getImport(id)).toEqual(first)
  })
}

function rowRaces(race: Racing): void {
  race('writes rows once, and creates one contact for an address', async ({ storage, atOnce }) => {
    const { teamId, create, getImport, save, counts } = await stage(storage)
    const { id } = await create({ status: 'in_progress', plan })
    const email = `${unique('row')}@example.com`
    const batch = { id, teamId, from: 12, to: 40, line: 3, total: 1, rows: [{ email }], failed: [] }
    const write = (at: Storage) => at.writeImportRows(batch, T0)
    expect(sorted(await atOnce(write, write))).toEqual(['elsewhere', 'written'])
    expect((await getImport(id))?.counts).toEqual({ ...NO_COUNTS, total: 1, created: 1 })
    const other = { ...batch, from: 40, to: 80, rows: [{ email: 'both@example.com', firstName: 'Ada' }] }
    const contact = { id: newId(T0), teamId, email: 'both@example.com', segmentIds: [], topics: [] }
    await atOnce(
      (at) => at.writeImportRows(other, T0),
      (at) => at.saveContact({ contact: { ...contact, lastName: 'L' }, act: explicit }, T0),
    )
    expect(await counts()).toEqual({ contacts: 2, unsubscribed: 0 })
    const both = await storage.getContact({ teamId, ref: { email: contact.email } }, T0)
    expect(both).toMatchObject({ firstName: 'Ada', lastName: 'L' })
    expect(await save({ ...contact, id: newId(T0) })).toMatchObject({ kind: 'unchanged' })
    await storage.finishContactImport({ id, error: null }, T0)
  })

  race('undoes an import once', async ({ storage, atOnce }) => {
    const { teamId, create, counts, getImport } = await stage(storage)
    const { id } = await create({ status: 'in_progress', plan })
    const rows = [{ email: 'one@undone.example' }, { email: 'two@undone.example' }]
    const batch = { id, teamId, from: 12, to: 40, line: 3, total: 2, rows, failed: [] }
    await storage.writeImportRows(batch, T0)
    await storage.finishContactImport({ id, error: null }, T0)
    const undo = (at: Storage) => at.undoContactImport({ teamId, id, since: T0, limit: 9 }, T0)
    expect(sorted((await atOnce(undo, undo)).map((one) => JSON.stringify(one)))).toEqual([
      '"closed"',
      '{"removed":2,"done":true}',
    ])
    expect(await counts()).toEqual({ contacts: 0, unsubscribed: 0 })
    expect(await getImport(id)).toMatchObject({ undone: 2, undoneAt: T0 })
  })

  race('deletes and counts several contacts once, with one event each', async ({ storage, atOnce }) => {
    const { teamId, add, addSegment, counts, told } = await stage(storage)
    const segment = await addSegment()
    const ids = [await add({ segmentIds: [segment.id] }), await add()].map(({ id }) => id)
    const change = { kind: 'delete' as const }
    const remove = (at: Storage) => at.changeContacts({ teamId, ids, change, act: explicit }, T0)
    expect(sorted((await atOnce(remove, remove)).map((one) => JSON.stringify(one)))).toEqual([
      '{"found":0}',
      '{"found":2}',
    ])
    expect(await counts()).toEqual({ contacts: 0, unsubscribed: 0 })
    expect((await storage.getSegment({ teamId, id: segment.id }, T0))?.contacts).toBe(0)
    expect((await told()).filter((type) => type === 'contact.deleted')).toHaveLength(2)
  })
}

function preferenceRaces(race: Racing): void {
  race('an opt-out is kept even if the contact is deleted concurrently', async ({ storage, atOnce }) => {
    const { teamId, add, counts } = await stage(storage)
    const { id, email } = await add()
    const change = { unsubscribed: true, topics: [] }
    await atOnce(
      (at) => at.savePreferences({ teamId, contactId: id, address: email, change, act: person }, T0),
      (at) => at.deleteContact({ teamId, ref: { id } }, T0),
    )
    expect((await add({ email })).optOut).toMatchObject({ origin: 'person' })
    expect(await counts()).toEqual({ contacts: 1, unsubscribed: 1 })
  })

  race('keeps changes of different parts of the page, unless they are unreadable together', async (round) => {
    const { storage, atOnce } = round
    const { teamId } = await stage(storage)
    const update = (change: object) => (at: Storage) => at.updateUnsubscribePage({ teamId, change }, T0)
    await atOnce(update({ words: { de: { title: 'Hallo', text: null } } }), update({ postalAddress: 'Here' }))
    expect(await storage.getUnsubscribePage({ teamId }, T0)).toMatchObject({
      words: { de: { title: 'Hallo', text: null } },
      postalAddress: 'Here',
    })
    // Gray text on white is readable, and so is black text on gray, but not gray on gray.
    const answers = await atOnce(update({ text: '#6b6b6b' }), update({ background: '#9a9a9a' }))
    expect(answers.filter((answer) => typeof answer === 'string')).toHaveLength(1)
  })
}
