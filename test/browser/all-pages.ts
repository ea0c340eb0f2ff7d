import type { Page } from 'playwright-core'
import type { Seeded } from '../world/seeded.ts'

/** A view of the dashboard: a page, and what is open on it. */
export interface View {
  /** Also names its screenshot. */
  name: string
  path: string
  /** Shown only to people who aren't signed in. */
  outside?: true
  /** Actions to perform first. */
  act?: (page: Page) => Promise<void>
}

/** Waits until a page and its data have loaded. */
export async function settled(page: Page): Promise<void> {
  await page.locator('h1, [role=alert]').first().waitFor()
  await page.locator('.skeleton').first().waitFor({ state: 'detached' })
  await page.waitForLoadState('load')
}

/** Signs in as the owner. Waits for the dashboard's frame. */
export async function signIn(page: Page, { posthaste }: Seeded): Promise<void> {
  await page.goto(`${posthaste.url}/dashboard/emails`)
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('navigation', { name: 'Main' }).or(page.getByLabel('Open menu')).first().waitFor()
}

const nameOf = (path: string) => path.slice(1).replaceAll('/', '-')

/** Returns the dashboard paths that a menu links to. */
async function menu(page: Page, name: string): Promise<string[]> {
  const links = await page.getByRole('navigation', { name }).first().locator('a').all()
  const found = await Promise.all(links.map((link) => link.getAttribute('href')))
  return found.flatMap((href) => (href === null ? [] : [href.replace('/dashboard', '')]))
}

/** The views in groups of about equal size. */
export const PARTS = ['menus', 'settings', 'details', 'tabs', 'overlays', 'outside'] as const
export type Part = (typeof PARTS)[number]

/**
 * Returns a group's views. Those of menus are read from the page, so that none is forgotten.
 * @param page signed in
 */
export async function viewsOf(part: Part, page: Page, { posthaste, ids }: Seeded): Promise<View[]> {
  if (part === 'details') return details(ids)
  if (part === 'tabs') return tabs(ids)
  if (part === 'overlays') return overlays
  if (part === 'outside') return outside
  await page.goto(`${posthaste.url}/dashboard/settings/team`)
  await settled(page)
  const links = await menu(page, part === 'menus' ? 'Main' : 'Settings')
  const paths = part === 'menus' ? links.filter((path) => !path.startsWith('/settings')) : links
  return [...new Set(paths)].map((path) => ({ name: nameOf(path), path }))
}

/** Returns all views. */
export async function allViews(page: Page, seeded: Seeded): Promise<View[]> {
  const views: View[] = []
  for (const part of PARTS) views.push(...(await viewsOf(part, page, seeded)))
  return views
}

const details = (ids: Seeded['ids']): View[] => [
  { name: 'email', path: `/emails/${ids.delivered}`, act: firstAttempt },
  { name: 'email-bounced', path: `/emails/${ids.bounced}`, act: firstAttempt },
  { name: 'email-delayed', path: `/emails/${ids.delayed}` },
  { name: 'email-beside', path: `/emails?email=${ids.delivered}` },
  { name: 'email-preview', path: `/emails/${ids.delivered}?tab=preview` },
  { name: 'email-preview-dark', path: `/emails/${ids.delivered}?tab=preview&look=dark&width=mobile` },
  { name: 'email-headers', path: `/emails/${ids.delivered}?tab=headers` },
  { name: 'email-source', path: `/emails/${ids.delivered}?tab=source` },
  { name: 'email-webhooks', path: `/emails/${ids.delivered}?tab=webhooks` },
  { name: 'contact', path: `/audience/contacts/${ids.contact}` },
  { name: 'form', path: `/audience/forms/${ids.form}` },
  { name: 'segment', path: `/audience/segments/${ids.segment}` },
  { name: 'archive', path: '/broadcasts/archive' },
  { name: 'broadcast', path: `/broadcasts/${ids.broadcast}` },
  { name: 'broadcast-results', path: `/broadcasts/${ids.sentBroadcast}` },
  { name: 'template', path: `/templates/${ids.template}` },
  { name: 'automation', path: `/automations/${ids.automation}` },
  { name: 'automation-edit', path: `/automations/${ids.automation}/edit`, act: editedStep },
  { name: 'event', path: `/automations/events/${ids.event}` },
  { name: 'automation-run', path: `/automations/${ids.automation}/runs/${ids.run}` },
  { name: 'domain', path: `/domains/${ids.domain}` },
  { name: 'domain-report', path: `/domains/${ids.domain}/reports/${ids.report}` },
  { name: 'webhook', path: `/webhooks/${ids.webhook}` },
  { name: 'log', path: `/logs/${ids.log}` },
  { name: 'inbox-message', path: `/inbox/${ids.inbox}` },
  { name: 'received', path: `/inbound/${ids.received}` },
  { name: 'received-checks', path: `/inbound/${ids.received}?tab=checks` },
  { name: 'account', path: '/account' },
  { name: 'missing', path: '/nowhere' },
]

/** Returns tabs beside each page's first one, and the panels of rows. */
const tabs = (ids: Seeded['ids']): View[] => [
  { name: 'email-text', path: `/emails/${ids.delivered}?tab=text` },
  { name: 'email-attachments', path: `/emails/${ids.delivered}?tab=attachments` },
  { name: 'email-links', path: `/emails/${ids.delivered}?tab=links` },
  { name: 'email-insights', path: `/emails/${ids.delivered}?tab=insights` },
  { name: 'received-headers', path: `/inbound/${ids.received}?tab=headers` },
  { name: 'received-attachments', path: `/inbound/${ids.received}?tab=attachments` },
  { name: 'received-webhooks', path: `/inbound/${ids.received}?tab=webhooks` },
  { name: 'domain-dkim', path: `/domains/${ids.domain}?tab=dkim` },
  { name: 'domain-reputation', path: `/domains/${ids.domain}?tab=reputation` },
  { name: 'domain-reports', path: `/domains/${ids.domain}?tab=reports` },
  { name: 'domain-settings', path: `/domains/${ids.domain}?tab=settings` },
  { name: 'source-reputation', path: '/sources/auto' },
  { name: 'sources-providers', path: '/sources?tab=providers' },
  { name: 'sources-pools', path: '/sources?tab=pools' },
  { name: 'sources-tls', path: '/sources?tab=tls' },
  { name: 'segments', path: '/audience/segments' },
  { name: 'broadcast-settings', path: `/broadcasts/${ids.broadcast}?tab=settings` },
  { name: 'broadcast-versions', path: `/broadcasts/${ids.broadcast}?tab=versions` },
  { name: 'broadcast-review', path: `/broadcasts/${ids.broadcast}?tab=review` },
  { name: 'broadcast-send', path: `/broadcasts/${ids.broadcast}?tab=review&do=send`, act: dialog },
  { name: 'broadcast-rate', path: `/broadcasts/${ids.broadcast}?tab=review&do=rate`, act: dialog },
  { name: 'broadcast-test', path: `/broadcasts/${ids.broadcast}?do=test`, act: dialog },
  { name: 'broadcast-recipients', path: `/broadcasts/${ids.sentBroadcast}?tab=recipients` },
  { name: 'broadcast-links', path: `/broadcasts/${ids.sentBroadcast}?tab=links` },
  { name: 'template-code', path: `/templates/${ids.template}?tab=code` },
  { name: 'editor', path: `/templates/${ids.blocks}?tab=code`, act: canvas },
  { name: 'editor-preview', path: `/templates/${ids.blocks}?tab=code`, act: editorPreview },
  { name: 'template-variables', path: `/templates/${ids.template}?tab=variables` },
  { name: 'template-send', path: `/templates/${ids.template}?tab=send` },
  { name: 'template-versions', path: `/templates/${ids.template}?tab=versions` },
  { name: 'template-version', path: `/templates/${ids.template}?tab=versions`, act: firstRow },
  { name: 'automation-runs', path: `/automations/${ids.automation}?tab=runs` },
  { name: 'automation-test', path: `/automations/${ids.automation}?tab=test` },
  { name: 'automation-json', path: `/automations/${ids.automation}?tab=json` },
  { name: 'automation-step', path: `/automations/${ids.automation}/edit`, act: conditionForm },
  { name: 'automation-stop', path: `/automations/${ids.automation}?do=stop`, act: dialog },
  { name: 'events', path: '/automations/events' },
  { name: 'event-send', path: `/automations/events/${ids.event}?do=send`, act: dialog },
  { name: 'topics', path: '/audience/topics' },
  { name: 'forms', path: '/audience/forms' },
  { name: 'form-words', path: `/audience/forms/${ids.form}?tab=words` },
  { name: 'form-site', path: `/audience/forms/${ids.form}?tab=site` },
  { name: 'form-delete', path: `/audience/forms/${ids.form}?do=delete`, act: dialog },
  { name: 'topic-open', path: '/audience/topics', act: firstRow },
  { name: 'properties', path: '/audience/properties' },
  { name: 'imports', path: '/audience/imports' },
  { name: 'property-open', path: '/audience/properties', act: firstRow },
  { name: 'metrics-table', path: '/metrics?view=table' },
  { name: 'settings-audit-entry', path: '/settings/audit', act: firstRow },
  { name: 'source-open', path: '/sources', act: firstRow },
  { name: 'api-key-open', path: '/api-keys', act: firstRow },
  { name: 'suppression-open', path: '/suppressions', act: firstRow },
  { name: 'webhook-event', path: `/webhooks/${ids.webhook}`, act: firstRow },
  { name: 'webhook-replay', path: `/webhooks/${ids.webhook}?do=replay`, act: dialog },
]

const overlays: View[] = [
  { name: 'emails-time', path: '/emails', act: calendar('Time') },
  { name: 'emails-domain', path: '/emails', act: choices('Domain') },
  { name: 'metrics-days', path: '/metrics', act: calendar('Days') },
  { name: 'settings-audit-when', path: '/settings/audit', act: calendar('When') },
  { name: 'api-key-domain', path: '/api-keys?new=1', act: choices('Domain') },
  { name: 'api-key-new', path: '/api-keys?new=1' },
  { name: 'api-key-made', path: '/api-keys?new=1', act: made },
  { name: 'contacts-new', path: '/audience/contacts?new=1', act: pasted },
  { name: 'contacts-picked', path: '/audience/contacts', act: pickedContacts },
  { name: 'contacts-change', path: '/audience/contacts', act: contactsQuestion },
  { name: 'contact-erase', path: '/audience/contacts', act: erasureOfFirst },
  { name: 'segment-new', path: '/audience/segments?new=1', act: nestedRules },
  { name: 'import-new', path: '/audience/imports?new=1', act: dialog },
  { name: 'broadcast-new', path: '/broadcasts?new=1', act: dialog },
  { name: 'archive-disable', path: '/broadcasts/archive?do=disable', act: dialog },
  { name: 'template-new', path: '/templates?new=1', act: dialog },
  { name: 'automation-new', path: '/automations?new=1', act: dialog },
  { name: 'event-new', path: '/automations/events?new=1', act: dialog },
  { name: 'form-new', path: '/audience/forms?new=1', act: dialog },
  { name: 'topic-new', path: '/audience/topics?new=1', act: dialog },
  { name: 'property-new', path: '/audience/properties?new=1', act: dialog },
  { name: 'domain-new', path: '/domains?new=1' },
  { name: 'webhook-new', path: '/webhooks?new=1' },
  { name: 'queue-hold', path: '/queue?do=hold', act: touched },
  { name: 'queue-drop', path: '/queue?do=drop', act: touched },
  { name: 'member-invite', path: '/settings/members?do=invite', act: dialog },
  { name: 'team-leave', path: '/settings/team?do=leave', act: dialog },
  { name: 'suppression-new', path: '/suppressions?new=1' },
  { name: 'suppressions-import', path: '/suppressions?import=1' },
  { name: 'source-new', path: '/sources?new=1' },
  { name: 'emails-none', path: '/emails?q=%22nothing%20like%20that%22' },
  { name: 'palette', path: '/domains', act: (page) => page.keyboard.press('Control+k') },
  { name: 'keys', path: '/domains', act: (page) => page.keyboard.press('?') },
]

const outside: View[] = [
  { name: 'sign-in', path: '/sign-in', outside: true },
  { name: 'forgot-password', path: '/forgot-password', outside: true },
  { name: 'reset', path: '/reset#no-such-token', outside: true },
  { name: 'invitation', path: '/invitation#no-such-token', outside: true },
]

/** Opens the first row of the list in its panel. */
async function firstRow(page: Page): Promise<void> {
  await page.locator('main a[data-row]').first().click()
  await dialog(page)
  await settled(page)
}

/** Pastes addresses. Waits for the preview. */
async function pasted(page: Page): Promise<void> {
  await page.getByLabel('Addresses').fill('ada@readers.example, new@readers.example\nnobody')
  await page.getByText('not an address').waitFor()
}

/** Selects all contacts of the page. */
async function pickedContacts(page: Page): Promise<void> {
  await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
  await page.getByRole('group', { name: 'Selection' }).waitFor()
}

/** Opens the dialog that changes all contacts of the page. */
async function contactsQuestion(page: Page): Promise<void> {
  await pickedContacts(page)
  await page.getByRole('link', { name: 'Subscribe to topic…' }).click()
  await page.getByText('This affects').waitFor()
}

/** Opens the dialog that erases the first contact. */
async function erasureOfFirst(page: Page): Promise<void> {
  await page.locator('main a[data-row]').first().click()
  await page.getByRole('link', { name: 'Erase data' }).click()
  await dialog(page)
}

/** Waits until a document's blocks are editable. */
async function canvas(page: Page): Promise<void> {
  await page.getByRole('textbox', { name: 'Content', exact: true }).waitFor()
}

/** Shows the editor's preview of the document. */
async function editorPreview(page: Page): Promise<void> {
  await canvas(page)
  await page.getByRole('button', { name: 'Preview', exact: true }).click()
  await page.locator('iframe').first().waitFor()
}

/** Waits for the dialog that the URL opens. */
async function dialog(page: Page): Promise<void> {
  await page.getByRole('dialog').waitFor()
}

/** Waits until the steps of an automation can be changed. */
async function editedStep(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Change', exact: true }).first().waitFor()
}

/** Opens the settings of a condition. */
async function conditionForm(page: Page): Promise<void> {
  await page
    .getByRole('group', { name: /^Condition / })
    .getByRole('button', { name: 'Change' })
    .click()
  await dialog(page)
}

/** Adds a group next to a segment's first rule. */
async function nestedRules(page: Page): Promise<void> {
  await page.getByRole('radio', { name: 'Contacts that meet rules' }).check()
  await page.getByRole('button', { name: 'Add group', exact: true }).click()
  await page.getByRole('group', { name: 'Group 2' }).waitFor()
}

/** Creates an API key, whose token is shown once. */
async function made(page: Page): Promise<void> {
  await page.getByLabel('Name').fill('Back office')
  await page.getByRole('button', { name: 'Create key', exact: true }).click()
  await page.getByRole('dialog', { name: 'API key created' }).waitFor()
}

/** Waits until a queue dialog shows what it would affect. */
async function touched(page: Page): Promise<void> {
  await page.getByRole('dialog').getByText('would be').waitFor()
}

/** Shows the filters, which are behind a button on phones. */
async function unfold(page: Page): Promise<void> {
  const filters = page.getByRole('button', { name: /^Filters/, expanded: false })
  if (await filters.isVisible()) await filters.click()
}

/** Returns an action that opens a date picker. */
function calendar(name: string) {
  return async (page: Page) => {
    await unfold(page)
    await page.getByRole('button', { name: new RegExp(`^${name}: `) }).click()
    await page.getByRole('grid').first().waitFor()
  }
}

/** Returns an action that opens a field with suggestions. */
function choices(name: string) {
  return async (page: Page) => {
    await unfold(page)
    await page.getByRole('button', { name: new RegExp(`^${name}: `) }).click()
    await page.locator('div[role=option]').first().waitFor()
  }
}

/** Expands the first attempt's transcript. */
async function firstAttempt(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Attempt 1' }).first().click()
  await page.getByText('MAIL FROM:').first().waitFor()
}
