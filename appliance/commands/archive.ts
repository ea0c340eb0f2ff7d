/** Commands that manage the public archive. */
import { Option } from 'commander'
import { presentArchive } from '../api/archive.ts'
import type { ArchiveInput } from '../archive/settings.ts'
import type { Context } from './context.ts'
import { Failure } from './failure.ts'
import { formatTable } from './output.ts'
import type { Registrar } from './registrar.ts'

/** Registers `archive`. */
export function addArchive({ group, addInTeam, does }: Registrar): void {
  const archive = group('archive', 'Look at the public archive of broadcasts and change it')
  addInTeam('show', 'Show the settings of the archive', archive).action(does(showArchive))
  addInTeam('enable', 'Make the archive public', archive).action(does(enableArchive))
  addInTeam('disable', 'Take all pages of the archive offline', archive).action(does(disableArchive))
  addInTeam('set', 'Change the settings of the archive', archive)
    .option('--slug <slug>', 'Part of the URL, such as acme-news')
    .option('--title <text>', 'Heading of the pages; an empty text: the name of the team')
    .option('--description <text>', 'Text below the heading; an empty text: none')
    .option('--domain <name>', 'Domain whose tracking host is in the URL, or none')
    .option('--form <id>', 'Sign-up form to link to, or none')
    .addOption(new Option('--search-engines <choice>', 'May they list the pages').choices(['allow', 'deny']))
    .action(does(setArchive))
}

interface Given {
  slug?: string
  title?: string
  description?: string
  domain?: string
  form?: string
  searchEngines?: 'allow' | 'deny'
}

type Shown = Awaited<ReturnType<Context['archive']['get']>>

function print({ output }: Context, archive: Shown): void {
  output.object(presentArchive(archive))
  const none = archive.status === 'enabled' ? 'none: this server has no public address' : 'none'
  const facts = [
    ['Status', archive.status],
    ['Page', archive.url ?? none],
    ['Feed', archive.feedUrl ?? none],
    ['Slug', archive.slug ?? 'none'],
    ['Title', archive.title ?? 'the name of the team'],
    ['Description', archive.description ?? 'none'],
    ['Domain', archive.domain ?? 'none'],
    ['Sign-up form', archive.formId ?? 'none'],
    ['Search engines', archive.indexed ? 'allowed' : 'denied'],
  ]
  output.text(...formatTable(['FIELD', 'VALUE'], facts))
}

/** Runs `archive show`. */
async function showArchive(context: Context): Promise<void> {
  const { id: teamId } = await context.team()
  print(context, await context.archive.get({ teamId }))
}

async function change(context: Context, input: ArchiveInput): Promise<void> {
  const { id: teamId } = await context.team()
  print(context, await context.archive.update({ teamId, input }))
}

const enableArchive = (context: Context): Promise<void> => change(context, { status: 'enabled' })

const disableArchive = (context: Context): Promise<void> => change(context, { status: 'disabled' })

const orNull = (text: string | undefined): string | null | undefined => (text === 'none' ? null : text)

/** Runs `archive set`. */
async function setArchive(context: Context, given: Given): Promise<void> {
  const { slug, title, description, domain, form, searchEngines } = given
  const input: ArchiveInput = {
    slug,
    title,
    description,
    domain: orNull(domain),
    formId: orNull(form),
    indexed: searchEngines === undefined ? undefined : searchEngines === 'allow',
  }
  if (Object.values(input).every((value) => value === undefined))
    throw new Failure('Say what to change. See: posthaste archive set --help')
  await change(context, input)
}
