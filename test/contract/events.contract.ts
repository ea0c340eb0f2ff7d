import { beforeAll, expect, test } from 'vitest'
import {
  START_CURSOR,
  minCursor,
  formatCursor,
  isAfter,
  parseCursor,
  type Storage,
} from '../../appliance/storage/storage.ts'
import { makeTeam, putEmail, T0 } from './fixtures.ts'

/** Tests of events, as the readers see them. */
export function eventsContract(open: () => Storage): void {
  let storage: Storage
  let teamId: string
  beforeAll(async () => {
    storage = open()
    teamId = (await makeTeam(storage)).team.id
  })
  const happen = async (of = teamId): Promise<string> => {
    const { id } = await putEmail(storage, of, ['a@x.test'], T0)
    await storage.dropQueue({ emailId: id }, T0)
    return id
  }

  test('returns each live event once, in the order in which the events happened', async () => {
    const start = await storage.lastEvent({}, T0)
    const ids = [await happen(), await happen(), await happen()]
    const first = await storage.liveEvents({ after: start, limit: 2 }, T0)
    const rest = await storage.liveEvents({ after: first.at(-1)!.cursor, limit: 10 }, T0)
    expect([...first, ...rest].map(({ emailId, type }) => [emailId, type])).toEqual(
      ids.map((id) => [id, 'email.failed']),
    )
    const last = await storage.lastEvent({}, T0)
    expect(last).toEqual(rest.at(-1)!.cursor)
    expect(await storage.liveEvents({ after: last, limit: 10 }, T0)).toEqual([])
  })

  test('a team receives only its own live events', async () => {
    const other = (await makeTeam(storage)).team.id
    const start = await storage.lastEvent({}, T0)
    await happen()
    const theirs = await happen(other)
    const heard = await storage.liveEvents({ teamId: other, after: start, limit: 10 }, T0)
    expect(heard.map(({ emailId }) => emailId)).toEqual([theirs])
  })

  test('a cursor can be written, read back, and compared with another', async () => {
    const before = await storage.lastEvent({}, T0)
    await happen()
    const after = await storage.lastEvent({}, T0)
    expect([isAfter(after, before), isAfter(before, after), isAfter(after, after)]).toEqual([
      true,
      false,
      false,
    ])
    expect(isAfter(before, START_CURSOR) || before.seq === 0).toBe(true)
    expect(minCursor(after, before)).toEqual(before)
    expect(parseCursor(formatCursor(after))).toEqual(after)
  })

  test.each(['', '12', '-1-2', '1-2-3', 'a-b', '1-1234567890123456', '0-1 '])(
    'rejects %j as a cursor',
    (text) => {
      expect(parseCursor(text)).toBeNull()
    },
  )
}
