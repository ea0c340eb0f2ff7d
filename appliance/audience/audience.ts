/** A team's contacts with their segments, topics, properties and consent. */
import { type BatchMethods, batchMethods } from './batches.ts'
import { type ContactMethods, contactMethods } from './contacts.ts'
import {
  createSweeper,
  type PropertyMethods,
  propertyMethods,
  type SegmentMethods,
  segmentMethods,
  type TopicMethods,
  topicMethods,
} from './lists.ts'
import { type MemberMethods, memberMethods } from './members.ts'
import { type PersonMethods, personMethods } from './person.ts'
import { type PreferenceMethods, preferenceMethods } from './preferences.ts'
import type { PreferencesTokens } from './tokens.ts'
import { type PageMethods, pageMethods } from './unsubscribe-page.ts'
import { createSegmentSizes } from './rules.ts'
import { ImportFiles, type ImportFilesDeps } from './import-files.ts'
import { createImportRunner, type ImportRunnerDeps } from './import-runner.ts'
import { type ImportMethods, importMethods } from './imports.ts'
import type { AudienceDeps } from './which.ts'

export type { ContactDetails } from './contacts.ts'
export type { PickedContacts } from './batches.ts'
export type { OpenedPreferences, Visitor } from './preferences.ts'
export {
  PAGE_ACTIONS,
  type PageAction,
  type PageNotice,
  type PageTopic,
  renderNotFound,
  renderPreferencePage,
} from './preference-page.ts'
export { type ContactFile, readContactFile } from './contact-file.ts'
export { MOST_RULED } from './lists.ts'
export { readName, readProperties, readText } from './values.ts'
export { WORDS } from './page-words.ts'
export {
  createPreferencesTokens,
  PREFERENCES_PATH,
  type PreferencesTarget,
  type PreferencesTokens,
} from './tokens.ts'

export { DRAFT_MS } from './import-runner.ts'
export { MAX_FILE, type Upload } from './import-files.ts'
export type { Person, PersonEmail } from './person.ts'
export { type ImportInput, type ImportPreview, type ImportSummary, UNDO_MS } from './imports.ts'

export interface Audience
  extends
    ContactMethods,
    BatchMethods,
    MemberMethods,
    PersonMethods,
    SegmentMethods,
    TopicMethods,
    PropertyMethods,
    PreferenceMethods,
    PageMethods,
    ImportMethods {
  /** Continues work that a stop interrupted. Only for the daemon. */
  start(): void
  /** Stops the background work. */
  close(): Promise<void>
}

/** The operations on contacts that commands use. A running daemon continues the work that they queue. */
export interface ContactBook
  extends
    ContactMethods,
    BatchMethods,
    PersonMethods,
    SegmentMethods,
    TopicMethods,
    PropertyMethods,
    ImportMethods {}

/** Creates a contact book, which runs nothing in the background. */
export function createContactBook(deps: AudienceDeps & { imports: ImportFilesDeps }): ContactBook {
  const files = new ImportFiles(deps.imports)
  const sizes = createSegmentSizes(deps)
  const later = (): void => undefined
  return {
    ...contactMethods(deps),
    ...batchMethods(deps),
    ...personMethods(deps),
    ...segmentMethods(deps, later, { soon: (segment) => sizes.fresh(segment), refresh: later }),
    ...topicMethods(deps, later),
    ...propertyMethods(deps),
    ...importMethods({ ...deps, files }, later),
  }
}

/** The dependencies of imports only. */
type ImportDeps = ImportFilesDeps & Pick<ImportRunnerDeps, 'log' | 'duties' | 'calls' | 'hereOnly' | 'pollMs'>

/**
 * Creates the audience.
 *
 * @param deps tokens: for links to the preference page
 */
export function createAudience(
  deps: AudienceDeps & { tokens: PreferencesTokens; imports: ImportDeps },
): Audience {
  const files = new ImportFiles(deps.imports)
  const runner = createImportRunner({ ...deps, ...deps.imports, files })
  const sweeper = createSweeper(deps)
  const swept = (): void => sweeper.wake()
  const sizes = createSegmentSizes(deps)
  return {
    ...contactMethods(deps),
    ...batchMethods(deps),
    ...personMethods(deps),
    ...memberMethods(deps),
    ...segmentMethods(deps, swept, sizes),
    ...topicMethods(deps, swept),
    ...propertyMethods(deps),
    ...preferenceMethods(deps, deps.tokens),
    ...pageMethods(deps),
    ...importMethods({ ...deps, files }, () => runner.wake()),
    start() {
      swept()
      runner.start()
    },
    async close() {
      await runner.stop()
      await sweeper.close()
      await sizes.close()
    },
  }
}
