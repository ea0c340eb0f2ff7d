/**
 * Measures the dashboard's speed with very many emails: page changes, the long list, and the metrics page. Asserts
 * nothing.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium, type Page } from 'playwright-core'
import { ownDashboard } from '../../test/browser/build.ts'
import { measureMetrics, runRollUp } from './dashboard-metrics.ts'
import { measurePages, watchPages } from './dashboard-pages.ts'
import { measureList, sendEmails } from './dashboard-scroll.ts'
import type { DashboardServer } from './dashboard-server.ts'
import { addTeamData } from './dashboard-team.ts'
import { generateEmails } from './many-emails.ts'

const { values } = parseArgs({
  options: {
    emails: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '5' },
    /** Number of screens to scroll by wheel. */
    screens: { type: 'string', default: '100' },
    /** Seconds to spend jumping to the end of the list. */
    seconds: { type: 'string', default: '20' },
    /** Folder in which the generated data is kept, and existing data is reused, including that of `bench emails`. */
    data: { type: 'string' },
    /** The only part to run: pages, list or metrics. */
    only: { type: 'string' },
    /** Names of the only page changes to run, as they are printed. */
    way: { type: 'string', multiple: true, default: [] },
  },
})
const EMAILS = Number(values.emails)
const ROUNDS = Number(values.rounds)
/** Number of bytes per generated message. The dashboard's lists don't show message bodies. */
const BODY = 200
const LOGGED = 10

async function signIn(page: Page, { url, email, password }: DashboardServer): Promise<void> {
  await page.goto(`${url}/dashboard/emails`)
  await page.getByLabel('Email address').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.locator('main [data-row]').first().waitFor()
}

/** Starts the appliance with the data. `stop` ends it. */
async function serve(dataDir: string): Promise<{ served: DashboardServer; stop: () => Promise<void> }> {
  const program = join(import.meta.dirname, 'dashboard-server.ts')
  const child = fork(program, [dataDir, await ownDashboard()])
  const ended = once(child, 'exit')
  const [served] = (await Promise.race([once(child, 'message'), ended])) as [DashboardServer | number | null]
  if (served === null || typeof served === 'number') throw new Error('the server did not start')
  const stop = async (): Promise<void> => {
    if (child.connected) child.disconnect()
    await ended
  }
  return { served, stop }
}

async function inBrowser(dataDir: string): Promise<void> {
  const { served, stop } = await serve(dataDir)
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell',
    args: ['--no-sandbox', '--disable-gpu'],
  })
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
    await watchPages(page)
    await signIn(page, served)
    // Adds rows to the request log.
    for (let i = 0; i < LOGGED; i++) await sendEmails(served, 1, 'Logged')
    if (values.only !== 'list') await measurePages(page, served.url, ROUNDS, values.way)
    if (values.only !== 'pages')
      await measureList(page, served, { screens: Number(values.screens), seconds: Number(values.seconds) })
  } finally {
    await browser.close()
    await stop()
  }
}

const dataDir = values.data ?? mkdtempSync(join(tmpdir(), 'posthaste-bench-'))
mkdirSync(dataDir, { recursive: true })
const file = join(dataDir, 'posthaste.db')
try {
  if (!existsSync(file)) generateEmails(file, { emails: EMAILS, body: BODY })
  addTeamData(file, EMAILS, Date.now())
  console.log(`${EMAILS} emails, load average ${loadavg()[0]!.toFixed(1)}\n`)
  await runRollUp(dataDir, Date.now())
  if (values.only !== 'metrics') await inBrowser(dataDir)
  if (values.only === undefined || values.only === 'metrics')
    await measureMetrics(dataDir, ROUNDS, Date.now())
} finally {
  if (values.data === undefined) rmSync(dataDir, { recursive: true })
}
