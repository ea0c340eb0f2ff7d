import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage, sidewaysScroll, type Watched } from './browser.ts'
import { canvas, caretToEnd } from './canvas.ts'
import { givePassword } from './people.ts'

/** Writes drafts as people do who paste too much, write long subjects, and have the same draft open twice. */

interface Block {
  type: string
  attrs?: Record<string, unknown>
  content?: Block[]
  text?: string
}
interface Stored {
  subject: string
  preview_text: string | null
  html: string
  text: string
  document: { content: Block[] }
}

let posthaste: TestAppliance
let browser: Browser
let desk: Watched
let page: Page
let segment: string

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const saved = () => page.getByText('All changes saved', { exact: true }).waitFor()
const paragraph = (text: string): Block => ({ type: 'paragraph', content: [{ type: 'text', text }] })
async function made(path: string, body: object): Promise<string> {
  const { status, body: answer } = await posthaste.call<{ id: string }>('POST', path, body)
  expect([status, answer]).toMatchObject([201, {}])
  return answer.id
}
/** Creates a broadcast of blocks and opens it. */
async function openDraft(content: Block[]): Promise<string> {
  const about = { segment_id: segment, from: `news@${posthaste.domain}`, subject: 'News' }
  const id = await made('/broadcasts', { ...about, document: { version: 1, content } })
  await page.goto(at(`/broadcasts/${id}`))
  await canvas(page).waitFor()
  return id
}
const stored = async (id: string) => (await posthaste.call<Stored>('GET', `/broadcasts/${id}`)).body
const until = (id: string, look: (found: Stored) => unknown) =>
  expect.poll(async () => look(await stored(id)))
/** Pastes HTML, as from another page. */
const paste = (html: string) =>
  page.evaluate(`{
    const data = new DataTransfer()
    data.setData('text/html', ${JSON.stringify(html)})
    document.querySelector('.canvas').dispatchEvent(
      new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))
  }`)

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
  desk = await openPage(browser)
  page = desk.page
  segment = await made('/segments', { name: 'Readers' })
  await page.goto(at('/broadcasts'))
  await givePassword(page, { email: posthaste.ownerEmail, password: posthaste.ownerPassword })
  await page.getByRole('heading', { name: 'No broadcasts yet' }).waitFor()
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('saves a very long subject with direction marks and emoji without breaking the layout', async () => {
  const id = await openDraft([paragraph('Hi')])
  const subject = `\u202eهلا 👩‍👩‍👧‍👦 ${'unbroken'.repeat(100)}`
  await page.getByRole('textbox', { name: 'Subject', exact: true }).fill(subject)
  await page.getByRole('textbox', { name: 'Preview text', exact: true }).fill('👋'.repeat(300))
  await saved()
  await until(id, (found) => [found.subject, found.preview_text]).toEqual([subject, '👋'.repeat(300)])
  await page.getByText('806 characters. Phones and computers cut it.').waitFor()
  await page.getByText('300 characters. Mail apps show about 90').waitFor()
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 })
    await expect.poll(() => sidewaysScroll(page)).toBe(0)
  }
  await page.setViewportSize({ width: 1440, height: 900 })
})

test('edits the end of a draft with a hundred blocks, with undo across saves', async () => {
  const many = Array.from({ length: 100 }, (_, n) => paragraph(`Block ${n}`))
  const id = await openDraft(many)
  await caretToEnd(page)
  await page.keyboard.type(' one')
  await until(id, ({ text }) => text).toContain('Block 99 one')
  await saved()
  await page.keyboard.press('Enter')
  await page.keyboard.type('two')
  await until(id, ({ text }) => text).toMatch(/Block 99 one\s+two/)
  await saved()
  const undone = async () => {
    await page.keyboard.press('Control+z')
    return canvas(page).locator('p').last().innerText()
  }
  await expect.poll(undone).toBe('Block 99')
  await until(id, ({ text }) => text.trimEnd().endsWith('Block 99')).toBe(true)
  expect((await stored(id)).document.content).toHaveLength(100)
})

test('pasting a whole web page keeps only text, lists and links', async () => {
  const id = await openDraft([paragraph('Start')])
  await caretToEnd(page)
  await paste(
    '<!doctype html><html><head><title>T</title><style>p{color:red}</style><script>parent.hit=1</script></head><body>' +
      '<nav onclick="hit()"><a href="javascript:hit()">Menu</a></nav><form><input value="x"><button>Go</button></form>' +
      '<main><h1 style="position:fixed">Title</h1><table><tr><td><p>Cell</p></td></tr></table>' +
      '<ul><li>Item<ul><li>Deep</li></ul></li></ul><a href="https://shop.test/">Shop</a>' +
      '<iframe src="https://evil.test"></iframe><svg onload="hit()"></svg></main></body></html>',
  )
  await until(id, ({ text }) => text).toContain('Deep')
  await saved()
  const { html, text } = await stored(id)
  for (const part of ['Title', 'Cell', 'Item', 'https://shop.test/']) expect(text).toContain(part)
  for (const part of ['javascript:', 'onclick', 'hit(', '<form', '<input', 'iframe', 'position:fixed'])
    expect(html).not.toContain(part)
  expect(await page.evaluate('window.hit')).toBeUndefined()
  // The page's policy blocked content of the clipboard, not of the editor.
  for (const error of desk.errors.splice(0))
    expect(error).toMatch(/^Executing inline event handler violates .* The action has been blocked\.$/)
})

test('a draft with too many blocks is shown as not saved until it is small enough to be saved', async () => {
  const id = await openDraft([paragraph('Start')])
  await caretToEnd(page)
  await paste(`${'<p>word</p>'.repeat(2500)}`)
  await page.getByRole('alert').filter({ hasText: 'document' }).waitFor()
  await page.getByRole('status').filter({ hasText: 'Not saved' }).waitFor()
  expect(await page.getByText('All changes saved', { exact: true }).count()).toBe(0)
  expect((await stored(id)).text.trim()).toBe('Start')
  await page.keyboard.press('Control+z')
  await caretToEnd(page)
  await page.keyboard.type(' again')
  await until(id, ({ text }) => text.trim()).toBe('Start again')
  await saved()
})

test('of two tabs that edit one draft, the later one gets a warning, and neither text is lost silently', async () => {
  const id = await openDraft([paragraph('Start')])
  const other = await page.context().newPage()
  await other.goto(at(`/broadcasts/${id}`))
  await caretToEnd(other)
  await other.keyboard.type(' there')
  await until(id, ({ text }) => text.trim()).toBe('Start there')
  await caretToEnd(page)
  await page.keyboard.type(' here')
  await page.getByRole('heading', { name: 'Somebody else changed this draft' }).waitFor()
  expect((await stored(id)).text.trim()).toBe('Start there')
  await page.getByRole('button', { name: 'Load their version' }).click()
  await canvas(page).getByText('Start there').waitFor()
  await caretToEnd(page)
  await page.keyboard.type(' and here')
  await until(id, ({ text }) => text.trim()).toBe('Start there and here')
  await other.close()
  expect(desk.errors).toEqual([])
})
