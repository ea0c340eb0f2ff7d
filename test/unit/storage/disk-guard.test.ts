import { expect, test } from 'vitest'
import { Refusal } from '../../../appliance/mail/refusals.ts'
import { guardDiskSpace } from '../../../appliance/storage/disk-guard.ts'
import { toFailure, StorageFailure, StorageLost } from '../../../appliance/storage/engine/failures.ts'

/** Returns a client's response if storing an email fails with this error. */
async function answerTo(error: Error): Promise<unknown> {
  const fails: (...asked: unknown[]) => Promise<never> = () => Promise.reject(error)
  const storage = guardDiskSpace(
    { put: fails, keepReturned: fails, keepPostmaster: fails, saveLogs: fails },
    {
      freeBytes: async () => null,
      leastFree: 0,
      log: { info: () => undefined, error: () => undefined },
    },
  )
  const refused: unknown = await storage.put({}, 0).catch((thrown: unknown) => thrown)
  return refused instanceof Refusal ? [refused.key, refused.status, refused.smtp] : refused
}

test.each([
  ['SQLITE_FULL', false, ['disk_full', 507, '452 4.3.1']],
  ['SQLITE_IOERR_WRITE', false, ['unavailable', 503, '451 4.3.0']],
  ['SQLITE_FULL', true, ['outcome_unknown', 503, '451 4.3.0']],
  ['SQLITE_IOERR_FSYNC', true, ['outcome_unknown', 503, '451 4.3.0']],
])('a client gets the outcome of %s (during commit: %s): %j', async (code, committing, said) => {
  const error = new StorageFailure(toFailure(Object.assign(new Error('broken'), { code }), committing))
  expect(await answerTo(error)).toEqual(said)
})

test('if the storage thread dies, a client gets an error that the email may have been accepted', async () => {
  expect(await answerTo(new StorageLost('out of memory'))).toEqual(['outcome_unknown', 503, '451 4.3.0'])
})
