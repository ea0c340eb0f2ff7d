import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage, type Watched } from './browser.ts'
import { givePassword, type Person } from './people.ts'
import { sound } from './sound.ts'

/**
 * Tests joining a team through an invitation link: with a new account, with an existing one, and with one that has no
 * team.
 */

let posthaste: TestAppliance
let browser: Browser
let owner: Watched

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const shell = (page: Page) => page.getByRole('navigation', { name: 'Main' })
const EVA: Person = { email: 'eva@people.example', password: 'eva walks along the quiet quay' }

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
  owner = await openPage(browser)
  await owner.page.goto(at('/settings/members'))
  await givePassword(owner.page, { email: posthaste.ownerEmail, password: posthaste.ownerPassword })
})

afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

/** Invites someone as the owner. Returns the link that the page shows. */
async function invite(email: string, role: string): Promise<string> {
  const { page } = owner
  await page.getByRole('link', { name: 'Invite member' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Email address').fill(email)
  await dialog.getByRole('radio', { name: new RegExp(`^${role}`) }).check()
  await dialog.getByRole('button', { name: 'Invite member', exact: true }).click()
  await page.getByRole('dialog', { name: 'Invitation created' }).waitFor()
  const link = await dialog.getByText('/invitation#').innerText()
  await sound(page, 'invitation-made')
  await dialog.getByRole('button', { name: 'Done' }).click()
  return link
}

test('an invitation link creates an account with the given role, once', async () => {
  await owner.page.getByRole('heading', { name: 'Settings', exact: true }).waitFor()
  const link = await invite(EVA.email, 'Viewer')
  await owner.page.getByText(EVA.email).waitFor()
  await sound(owner.page, 'settings-members')

  const { page, context, errors } = await openPage(browser)
  await page.goto(link)
  await page.getByText('You’ll join with the viewer role.').waitFor()
  // The secret doesn't remain in the address bar or the history.
  await expect.poll(() => page.url()).toBe(at('/invitation'))
  await page.getByLabel('New password', { exact: true }).fill('password1234')
  await page.getByLabel('Confirm new password').fill('password12345')
  await page.getByRole('button', { name: 'Join team' }).click()
  await page.getByText('The passwords don’t match.').waitFor()
  await page.getByLabel('Confirm new password').fill('password1234')
  await page.getByRole('button', { name: 'Join team' }).click()
  await page.getByText('harder to guess').waitFor()
  await sound(page, 'invitation-new')
  for (const field of ['New password', 'Confirm new password'])
    await page.getByLabel(field, { exact: true }).fill(EVA.password)
  await page.getByRole('button', { name: 'Join team' }).click()
  await shell(page).waitFor()
  await page.goto(at('/settings/members'))
  await page.getByRole('row', { name: /eva@people\.example \(you\) Viewer/ }).waitFor()

  const { page: late, context: other } = await openPage(browser)
  await late.goto(at('/invitation'))
  await late.getByText('This invitation link is incomplete.').waitFor()
  // The full link in the same tab changes only the fragment.
  await late.goto(link)
  await late.getByText('Ask the team for a new one').waitFor()
  await sound(late, 'invitation-over')
  expect(errors).toEqual([])
  await context.close()
  await other.close()
})

test('an existing user joins another team with their own account only, and switches between teams', async () => {
  const { page: desk } = owner
  await desk.goto(at('/settings/team'))
  await desk.getByRole('link', { name: 'Create team' }).click()
  await desk.getByRole('dialog').getByLabel('Name').fill('Newsletters')
  await desk.getByRole('dialog').getByRole('button', { name: 'Create team' }).click()
  await desk.getByText('No emails yet').waitFor()
  await sound(desk, 'settings-new-team')
  await desk.goto(at('/settings/members'))
  const link = await invite(EVA.email, 'Developer')

  // A person signed in with another account can't accept it.
  await desk.goto(link)
  await desk.getByText(`This invitation is for ${EVA.email}`).waitFor()
  await sound(desk, 'invitation-other')

  const { page, context, errors } = await openPage(browser)
  await page.goto(link)
  await page.getByText('already has an account').waitFor()
  await sound(page, 'invitation-known')
  await page.getByRole('link', { name: 'Sign in' }).click()
  await givePassword(page, EVA)
  await page.getByText('You’ll join with the developer role').waitFor()
  await sound(page, 'invitation-join')
  await page.getByRole('button', { name: 'Join team' }).click()
  const teams = page.getByRole('combobox', { name: 'Team' })
  await teams.waitFor()
  await expect
    .poll(() => teams.locator('option').allInnerTexts())
    .toEqual(['Sandbox (viewer)', 'Newsletters (developer)'])
  await page.getByText('No emails yet').waitFor()
  await page.goto(at('/domains'))
  await page.getByRole('link', { name: 'Add domain' }).first().waitFor()
  await sound(page, 'team-switch')
  await expect.poll(() => page.getByRole('link', { name: posthaste.domain, exact: true }).count()).toBe(0)

  await teams.selectOption('Sandbox (viewer)')
  await expect.poll(() => page.url()).toBe(at('/emails'))
  await shell(page).getByRole('link', { name: 'Domains' }).click()
  await page.getByRole('link', { name: posthaste.domain, exact: true }).waitFor()
  await expect.poll(() => page.getByRole('link', { name: 'Add domain' }).count()).toBe(0)
  // The choice belongs to the session, so another tab shows the same team.
  await page.reload()
  await page.getByText('Only developers and above can add domains.').waitFor()
  expect([...errors, ...owner.errors]).toEqual([])
  await context.close()
})

test('a user removed from every team returns by an invitation and their password', async () => {
  const { members, teams } = posthaste.appliance.accounts
  const all = await members.listMembers({ teamId: posthaste.teamId })
  const { userId } = all.find(({ email }) => email === EVA.email)!
  for (const { id: teamId } of await teams.teamsOf({ userId })) await members.leave({ teamId, userId })
  await owner.page.goto(at('/settings/members'))
  const link = await invite(EVA.email, 'Viewer')
  const { page, context, errors } = await openPage(browser)
  await page.goto(link)
  await page.getByText('isn’t in a team at the moment').waitFor()
  await sound(page, 'invitation-back')
  await page.getByLabel('Password').fill(EVA.password)
  await page.getByRole('button', { name: 'Join team' }).click()
  await shell(page).waitFor()
  expect(errors).toEqual([])
  await context.close()
})
