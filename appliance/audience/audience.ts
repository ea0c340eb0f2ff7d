/** A team's contacts with their segments, topics, properties and consent. */
import { type BatchMethods, createBatchMethods } from './batches.ts'
import { type ContactMethods, createContactMethods } from './contacts.ts'
import {
  createSweeper,
  type PropertyMethods,
  createPropertyMethods,
  type SegmentMethods,
  createSegmentMethods,
  type TopicMethods,
  createTopicMethods,
} from './lists.ts'
import { type MemberMethods, createMemberMethods } from './members.ts'
import { type PersonMethods, createPersonMethods } from './person.ts'
import { type PreferenceMethods, createPreferenceMethods } from './preferences.ts'
import type { PreferencesTokens } from './tokens.ts'
import { type PageMethods, createPageMethods } from './unsubscribe-page.ts'
import { createSegmentSizes } from './rules.ts'
import { ImportFiles, type ImportFilesDeps } from './import-files.ts'
import { createImportRunner, type ImportRunnerDeps } from './import-runner.ts'
import { type ImportMethods, createImportMethods } from './imports.ts'
import type { AudienceDeps } from './find.ts'

export type { ContactDetails } from './contacts.ts'
export type { SelectedContacts } from './batches.ts'
export type { PreferencePageData, Visitor } from './preferences.ts'
export {
  PAGE_ACTIONS,
  type PageAction,
  type PageNotice,
  type PageTopic,
  renderNotFoundPage,
  renderPreferencePage,
} from './preference-page.ts'
export { type ContactFile, readContactFile } from './contact-file.ts'
export { MAX_SEGMENTS_WITH_RULES } from './lists.ts'
export { parseName, parseProperties, parseText } from './values.ts'
export { PAGE_TEXTS } from './page-texts.ts'
export {
  createPreferencesTokens,
  PREFERENCES_PATH,
  type PreferencesTarget,
  type PreferencesTokens,
} from './tokens.ts'

export { DRAFT_RETENTION_MS } from './import-runner.ts'
export { MAX_UPLOAD_SIZE, type Upload } from './import-files.ts'
export type { Person, PersonEmail } from './person.ts'
export { type ImportInput, type ImportPreview, type ImportSummary, UNDO_WINDOW_MS } from './imports.ts'

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
export interface ContactOperations
  extends
    ContactMethods,
    BatchMethods,
    PersonMethods,
    SegmentMethods,
    TopicMethods,
    PropertyMethods,
    ImportMethods {}

/** Creates a contact book, which runs nothing in the background. */
export function createContactOperations(
  deps: AudienceDeps & { imports: ImportFilesDeps },
): ContactOperations {
  const files = new ImportFiles(deps.imports)
  const sizes = createSegmentSizes(deps)
  const later = (): void => undefined
  return {
    ...createContactMethods(deps),
    ...createBatchMethods(deps),
    ...createPersonMethods(deps),
    ...createSegmentMethods(deps, later, { soon: (segment) => sizes.fresh(segment), refresh: later }),
    ...createTopicMethods(deps, later),
    ...createPropertyMethods(deps),
    ...createImportMethods({ ...deps, files }, later),
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
    ...createContactMethods(deps),
    ...createBatchMethods(deps),
    ...createPersonMethods(deps),
    ...createMemberMethods(deps),
    ...createSegmentMethods(deps, swept, sizes),
    ...createTopicMethods(deps, swept),
    ...createPropertyMethods(deps),
    ...createPreferenceMethods(deps, deps.tokens),
    ...createPageMethods(deps),
    ...createImportMethods({ ...deps, files }, () => runner.wake()),
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
