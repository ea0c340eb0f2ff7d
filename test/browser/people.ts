import type { Page } from 'playwright-core'
import type { Role } from '../../appliance/mail/roles.ts'
import type { TestAppliance } from '../world/appliance.ts'

/** A user who can sign in. */
export interface Person {
  email: string
  password: string
}

/** Returns the dashboard's URL by host name, because browsers bind passkeys to names, not to IP addresses. */
export const byName = ({ url }: Pick<TestAppliance, 'url'>): string =>
  url.replace('127.0.0.1', 'localhost') + '/dashboard'

/** Fills in the sign-in page, from wherever the page was. */
export async function givePassword(page: Page, { email, password }: Person): Promise<void> {
  await page.getByLabel('Email address').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Adds a member to the appliance's team, as accepting an invitation does. */
export async function addMember(posthaste: TestAppliance, role: Role, person: Person): Promise<void> {
  const { members } = posthaste.appliance.accounts
  const owner = (await posthaste.appliance.accounts.findOwner({ email: posthaste.ownerEmail }))!
  const by = { userId: owner.user.id, role: 'owner' as const }
  const { token } = await members.invite({ teamId: posthaste.teamId, email: person.email, role, by })
  await members.acceptByPassword({ token, password: person.password })
}
