import { randomBytes } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Accounts } from '../accounts/accounts.ts'
import type { Senders } from '../senders/senders.ts'

/**
 * Data that a new user needs to send and sign in. Stored in the sandbox's folder, so that every start prints the same
 * data.
 */
export interface Seed {
  teamId: string
  domain: string
  email: string
  password: string
  apiKey: string
}

const DOMAIN = 'example.test'

/** Creates the owner and returns the team's id. If an interrupted start left an owner behind, sets the new password. */
async function makeOwner(accounts: Accounts, email: string, password: string): Promise<string> {
  const owner = await accounts.findOwner({ email })
  if (!owner) return (await accounts.createOwner({ email, password, teamName: 'Sandbox' })).team.id
  await accounts.setPassword({ userId: owner.user.id, password })
  return owner.team.id
}

/** Creates the sandbox's team, owner, verified domain and key at the first start; reads them from the file later. */
export async function seedSandbox(
  folder: string,
  { accounts, senders }: { accounts: Accounts; senders: Senders },
): Promise<Seed> {
  const file = join(folder, 'seed.json')
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Seed
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error // first start
  }
  const email = `you@${DOMAIN}`
  const password = randomBytes(12).toString('base64url')
  const teamId = await makeOwner(accounts, email, password)
  const domain =
    (await senders.findDomain({ teamId, name: DOMAIN })) ??
    (await senders.addDomain({ teamId, name: DOMAIN }))
  await senders.verifyDomain({ teamId, id: domain.id })
  const { token } = await senders.createKey({ teamId, name: 'First key', permission: 'full_access' })
  const seed: Seed = { teamId, domain: DOMAIN, email, password, apiKey: token }
  // Written atomically, because a power failure after the first start must not leave half a file.
  await writeFile(`${file}.new`, JSON.stringify(seed, null, 2), { mode: 0o600, flush: true })
  await rename(`${file}.new`, file)
  return seed
}
