import axe from 'axe-core'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage, type Watched } from './browser.ts'
import { givePassword } from './people.ts'
import { sound } from './sound.ts'

/** Tests the forms of all kinds of steps in the editor of automations, and the From field that suggests senders. */

let posthaste: TestAppliance
let browser: Browser
let desk: Watched
let page: Page
/** Ids of the objects that steps refer to. */
const ids = { template: '', segment: '', topic: '', automation: '' }
let sender: string

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const made = async (path: string, body: object) =>
  (await posthaste.call<{ id: string }>('POST', path, body)).body.id
const press = (name: string, within: Page | Locator = page) =>
  within.getByRole('button', { name, exact: true }).click()
const dialog = (name: string) => page.getByRole('dialog', { name, exact: true })
const from = () => page.getByRole('combobox', { name: 'From' })
const options = () => page.getByRole('listbox', { name: 'Senders' }).getByRole('option').allTextContents()
const eventually = <T>(read: () => T | Promise<T>) => expect.poll(read, { timeout: 60_000 })

interface Step {
  key: string
  type: string
  config: Record<string, unknown>
}
const saved = async () => {
  const { body } = await posthaste.call<{ steps: Step[]; connections: object[] }>(
    'GET',
    `/automations/${ids.automation}`,
  )
  return { ...body, configs: Object.fromEntries(body.steps.map(({ key, config }) => [key, config])) }
}

beforeAll(async () => {
  posthaste = await startAppliance()
  sender = `Acme <news@${posthaste.domain}>`
  const variables = [{ key: 'NAME', type: 'string', fallback_value: 'you' }]
  const html = '<p>Hi {{{NAME}}}</p>'
  ids.template = await made('/templates', {
    name: 'Hello',
    alias: 'hello',
    subject: 'Hello',
    html,
    variables,
  })
  await posthaste.call('POST', '/templates/hello/publish')
  ids.segment = await made('/segments', { name: 'Members' })
  ids.topic = await made('/topics', { name: 'News', default_subscription: 'opt_in' })
  await made('/contact-properties', { key: 'plan', type: 'string' })
  await made('/forms', { name: 'Newsletter', from: sender })
  const start = { key: 'start', type: 'trigger', config: { event_name: 'user.joined' } }
  ids.automation = await made('/automations', { name: 'All steps', steps: [start], connections: [] })
  browser = await launch()
  desk = await openPage(browser)
  page = desk.page
  await page.goto(at(`/automations/${ids.automation}/edit`))
  await givePassword(page, { email: posthaste.ownerEmail, password: posthaste.ownerPassword })
  await page.getByRole('heading', { name: 'All steps', exact: true }).waitFor()
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

/** Opens the form of a new step. */
async function add(kind: string, where: string): Promise<Locator> {
  await press(`Add step ${where}`)
  await dialog('Add step')
    .getByRole('button', { name: new RegExp(`^${kind}`) })
    .click()
  const form = dialog(kind)
  await form.waitFor()
  return form
}
/** Submits the form of a step, and waits until it is closed. */
async function done(form: Locator, button: 'Add step' | 'Apply changes' = 'Add step'): Promise<void> {
  await press(button, form)
  await form.waitFor({ state: 'detached' })
}
/** Opens the form of a step that is there. */
async function change(key: string, kind: string): Promise<Locator> {
  await page.locator(`[data-step=${key}] > .step`).getByRole('button', { name: 'Change' }).click()
  const form = dialog(kind)
  await form.waitFor()
  return form
}
async function save(): Promise<void> {
  await press('Save automation')
  await page.getByRole('status').getByText('All changes saved', { exact: true }).waitFor()
}
const label = (form: Locator, name: string) => form.getByLabel(name, { exact: true })

test('adds each kind of step with its settings, saves them and reads them back', async () => {
  const email = await add('Send email', 'after start')
  await email.locator('select[name=template]').selectOption({ label: 'Hello' })
  await label(email, 'Variable NAME').selectOption('field')
  await label(email, 'Value of Variable NAME').fill('contact.first_name')
  await label(email, 'Subject').fill('Welcome')
  await label(email, 'From').fill(`Support <help@${posthaste.domain}>`)
  await label(email, 'Reply to').fill('answers@customer.test')
  await email.locator('select[name=topic]').selectOption({ label: 'News' })
  await done(email)

  const wait = await add('Wait for event', 'after email')
  await label(wait, 'Event').fill('order.paid')
  await label(wait, 'Wait at most').fill('5 days')
  await wait.getByLabel('Only an event that meets rules').check()
  await label(wait, 'Field of rule 1').fill('event.total')
  await label(wait, 'Operator of rule 1').selectOption('gt')
  await label(wait, 'Value of rule 1').fill('10')
  await done(wait)

  const condition = await add('Condition', 'after wait, if the event arrives')
  await label(condition, 'Field of rule 1').fill('contact.properties.plan')
  await label(condition, 'Value of rule 1').fill('pro')
  await press('Add rule', condition)
  await label(condition, 'Field of rule 2').fill('event.trial')
  await label(condition, 'Value of rule 2').fill('true')
  await done(condition)

  const update = await add('Update contact', 'after condition, if it’s met')
  await label(update, 'First name').selectOption('text')
  await label(update, 'Value of First name').fill('Ada')
  await label(update, 'Last name').selectOption('field')
  await label(update, 'Value of Last name').fill('event.surname')
  await label(update, 'Unsubscribed from everything').selectOption('json')
  await update.getByLabel('Add property').selectOption('plan')
  await label(update, 'Value of Property plan').fill('pro')
  await done(update)

  const segment = await add('Add to segment', 'after update')
  await segment.locator('select[name=segment]').selectOption({ label: 'Members' })
  await done(segment)
  const delay = await add('Delay', 'after condition, if it isn’t met')
  await label(delay, 'Duration').fill('2 weeks')
  await label(delay, 'Step key').fill('later')
  await done(delay)
  await done(await add('Delete contact', 'after wait, if the time runs out'))
  await press('Add trigger')
  await label(dialog('Trigger'), 'Event').fill('user.returned')
  await press('Add trigger', dialog('Trigger'))
  await save()
  await sound(page, 'automation-all-steps')

  const { configs, connections } = await saved()
  expect(configs).toEqual({
    start: { event_name: 'user.joined' },
    start_2: { event_name: 'user.returned' },
    email: {
      template: { id: ids.template, variables: { NAME: { var: 'contact.first_name' } } },
      subject: 'Welcome',
      from: `Support <help@${posthaste.domain}>`,
      reply_to: 'answers@customer.test',
      topic_id: ids.topic,
    },
    wait: {
      event_name: 'order.paid',
      timeout: '5 days',
      filter_rule: { type: 'rule', field: 'event.total', operator: 'gt', value: 10 },
    },
    condition: {
      type: 'and',
      rules: [
        { type: 'rule', field: 'contact.properties.plan', operator: 'eq', value: 'pro' },
        { type: 'rule', field: 'event.trial', operator: 'eq', value: true },
      ],
    },
    update: {
      first_name: 'Ada',
      last_name: { var: 'event.surname' },
      unsubscribed: true,
      properties: { plan: 'pro' },
    },
    segment: { segment_id: ids.segment },
    later: { duration: '2 weeks' },
    delete: {},
  })
  expect(connections).toHaveLength(8)
})

test('shows the saved settings of each kind of step again', async () => {
  await page.reload()
  const shows = async (key: string, kind: string, values: Record<string, string>) => {
    const form = await change(key, kind)
    for (const [name, value] of Object.entries(values))
      await eventually(() => label(form, name).inputValue()).toBe(value)
    await press('Cancel', form)
    await form.waitFor({ state: 'detached' })
  }
  await shows('start', 'Trigger', { Event: 'user.joined', 'Step key': 'start' })
  await shows('email', 'Send email', {
    'Variable NAME': 'field',
    'Value of Variable NAME': 'contact.first_name',
    Subject: 'Welcome',
    From: `Support <help@${posthaste.domain}>`,
    'Reply to': 'answers@customer.test',
  })
  await shows('wait', 'Wait for event', {
    Event: 'order.paid',
    'Wait at most': '5 days',
    'Field of rule 1': 'event.total',
    'Operator of rule 1': 'gt',
    'Value of rule 1': '10',
  })
  await shows('condition', 'Condition', {
    'Field of rule 1': 'contact.properties.plan',
    'Value of rule 1': 'pro',
    'Value of rule 2': 'true',
  })
  await shows('update', 'Update contact', {
    'Value of First name': 'Ada',
    'Value of Last name': 'event.surname',
    'Value of Unsubscribed from everything': 'true',
    'Value of Property plan': 'pro',
  })
  await shows('later', 'Delay', { Duration: '2 weeks', 'Step key': 'later' })
})

/** What is typed into a form, where the refusal must appear, and what corrects it. */
const MISTAKES: [key: string, kind: string, name: string, wrong: string, right: string][] = [
  ['start', 'Trigger', 'Event', 'resend:joined', 'user.joined'],
  ['email', 'Send email', 'From', 'nobody', 'Support <help@sender.test>'],
  ['email', 'Send email', 'Reply to', 'nowhere', 'answers@customer.test'],
  ['email', 'Send email', 'Value of Variable NAME', 'first_name', 'contact.first_name'],
  ['wait', 'Wait for event', 'Wait at most', 'a while', '5 days'],
  ['wait', 'Wait for event', 'Field of rule 1', 'total', 'event.total'],
  ['condition', 'Condition', 'Field of rule 2', 'trial', 'event.trial'],
  ['update', 'Update contact', 'Value of Unsubscribed from everything', '7', 'true'],
  ['update', 'Update contact', 'Value of Last name', 'surname', 'event.surname'],
  ['later', 'Delay', 'Duration', '40 days', '2 weeks'],
]

test.each(MISTAKES)(
  'shows the mistake in the step %s (%s) beside “%s”',
  async (key, kind, name, wrong, right) => {
    const typed = await change(key, kind)
    await label(typed, name).fill(wrong)
    await done(typed, 'Apply changes')
    await press('Save automation')
    await page.getByText(`The step ${key} was refused. Change it, then save again.`).waitFor()
    const refused = await change(key, kind)
    const control = label(refused, name)
    await control.and(page.locator('[aria-invalid=true]')).waitFor()
    expect(await refused.locator('[aria-invalid=true]').count()).toBe(1)
    const described = (await control.getAttribute('aria-describedby'))!.split(' ')[0]
    const message = await page.locator(`[id="${described}"]`).textContent()
    expect(message).toMatch(/^Invalid `steps\[\d+\]\.config\./)
    // Only there, not below the form as well.
    expect(await refused.getByRole('alert').allTextContents()).toEqual([message])
    await control.fill(right)
    await done(refused, 'Apply changes')
    await save()
  },
)

test('shows a deleted segment beside the list of segments, and a key that is used twice', async () => {
  const { id } = (await posthaste.call<{ id: string }>('POST', '/segments', { name: 'Others' })).body
  await page.reload()
  const form = await change('segment', 'Add to segment')
  await form.locator('select[name=segment]').selectOption({ label: 'Others' })
  await label(form, 'Step key').fill('later')
  await form.getByText('Another step has this key.').waitFor()
  await label(form, 'Step key').fill('segment')
  await done(form, 'Apply changes')
  await posthaste.call('DELETE', `/segments/${id}`)
  await press('Save automation')
  const refused = await change('segment', 'Add to segment')
  await refused.locator('select[name=segment][aria-invalid=true]').waitFor()
  await refused.locator('select[name=segment]').selectOption(ids.segment)
  await done(refused, 'Apply changes')
  await save()
  expect((await saved()).configs.segment).toEqual({ segment_id: ids.segment })
})

/** Returns what axe finds in the open dialog, by all rules of WCAG 2.2 AA and best practice. */
async function found(): Promise<string[]> {
  await page.evaluate(axe.source)
  const tags = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']"
  return page.evaluate<string[]>(
    `axe.run('dialog[open]', { runOnly: ${tags} }).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))`,
  )
}

test('the From field suggests senders: arrows and Enter choose, typing filters, Esc closes the list', async () => {
  const form = await change('email', 'Send email')
  await from().fill('')
  await eventually(options).toEqual([sender])
  await page.keyboard.press('Escape')
  await eventually(options).toEqual([])
  await form.waitFor()
  await page.keyboard.press('ArrowDown')
  const chosen = page.getByRole('option', { name: sender, selected: true })
  await chosen.waitFor()
  expect(await from().getAttribute('aria-activedescendant')).toBe(await chosen.getAttribute('id'))
  await sound(page, 'automation-sender')
  expect(await found()).toEqual([])
  await page.keyboard.press('Enter')
  await eventually(() => from().inputValue()).toBe(sender)
  await from().fill('elsewhere')
  await eventually(options).toEqual(['No matching sender'])
  await from().fill('acme')
  await eventually(options).toEqual([sender])
  await page.getByRole('option', { name: sender }).click()
  await eventually(() => from().inputValue()).toBe(sender)
  await done(form, 'Apply changes')
  await save()
  expect((await saved()).configs.email).toMatchObject({ from: sender })
})

test('chooses a sender by touch on a phone', async () => {
  const storageState = await desk.context.storageState()
  const phone = await openPage(browser, {
    storageState,
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  })
  await phone.page.goto(at('/audience/forms?new=1'))
  await phone.page.getByLabel('Name').fill('Footer')
  await phone.page.getByRole('button', { name: 'Choose a sender' }).tap()
  await phone.page.getByRole('option', { name: sender }).tap()
  await phone.page.getByRole('listbox', { name: 'Senders' }).waitFor({ state: 'hidden' })
  await phone.page.getByRole('button', { name: 'Create form' }).tap()
  await phone.page.getByRole('heading', { name: 'Footer' }).waitFor()
  const { body } = await posthaste.call<{ data: { name: string; from: string }[] }>('GET', '/forms')
  expect(body.data.find(({ name }) => name === 'Footer')).toMatchObject({ from: sender })
  expect(phone.errors).toEqual([])
  expect(desk.errors).toEqual([])
})
