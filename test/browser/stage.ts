import type { Browser, Page } from 'playwright-core'
import type { TestAppliance } from '../world/appliance.ts'

/** What the tests of pages share: one appliance, one browser, one page that is signed in. Read when a test runs. */
export interface Stage {
  readonly posthaste: TestAppliance
  readonly browser: Browser
  readonly page: Page
  /** The whole address of a path of the dashboard. */
  readonly at: (path: string) => string
  /** The row of a list whose link stands for `id`. */
  readonly row: (id: string) => ReturnType<Page['locator']>
}
