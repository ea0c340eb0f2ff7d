/** Creates the configured identity providers with their secrets. */
import { readFileSync } from 'node:fs'
import { createProviderSignIns, type ProviderSettings, type ProviderSignIns } from '../accounts/accounts.ts'
import type { SignIns } from '../accounts/accounts.ts'
import type { Clock } from '../clock/clock.ts'
import { completeProvider, type Config } from '../config/config.ts'
import type { Storage } from '../storage/storage.ts'
import { StartupError } from '../wire/listeners.ts'

/** Reads the secrets once, at start. Throws with a message for people if one can't be read. */
export function openSignInProviders(
  { sign_in: { providers } }: Config,
  deps: { storage: Storage; clock: Clock; accounts: Pick<SignIns, 'enter'> },
): ProviderSignIns {
  const settings = providers.map((table, index): ProviderSettings => {
    const file = table.client_secret_file
    const secret = file === undefined ? table.client_secret! : readSecret(file, index)
    return completeProvider(table, secret)
  })
  return createProviderSignIns({ ...deps, settings })
}

function readSecret(file: string, index: number): string {
  const key = `sign_in.providers[${index}].client_secret_file`
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw new StartupError(`${key}: ${file} cannot be read (${code}).`)
  }
  if (text === '') throw new StartupError(`${key}: ${file} is empty.`)
  return text
}
