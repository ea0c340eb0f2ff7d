/** The commands about sign-up forms. */
import { Argument } from 'commander'
import { presentForm } from '../api/forms.ts'
import { presentDeleted, presentList } from '../api/shared.ts'
import type { Context } from './context.ts'
import { formatTable } from './output.ts'
import type { Registrar } from './registrar.ts'
import { parseId } from './values.ts'

/** Registers `form`. */
export function registerFormCommands({ group, addInTeam, does, doesTo }: Registrar): void {
  const forms = group('form', 'View, enable and disable sign-up forms')
  addInTeam('list', 'List sign-up forms, newest first', forms).action(does(listForms))
  const one = (name: string, words: string) =>
    addInTeam(name, words, forms).addArgument(new Argument('<id>', 'ID from the list').argParser(parseId))
  one('show', 'Show a sign-up form').action(doesTo(showForm))
  one('html', 'Print a sign-up form as HTML for a website').action(doesTo(printForm))
  one('enable', 'Let a form accept sign-ups').action(doesTo(enableForm))
  one('disable', 'Stop a form from accepting sign-ups').action(doesTo(disableForm))
  one('remove', 'Delete a form; its contacts stay').action(doesTo(removeForm))
}

async function listForms({ forms, output, team }: Context): Promise<void> {
  const { id: teamId } = await team()
  const all = await forms.list({ teamId })
  output.object(presentList(all.map(presentForm)))
  if (all.length === 0) return output.text('No sign-up forms.')
  const rows = all.map(({ id, name, status, submitted, confirmed }) => [
    id,
    status,
    String(submitted),
    String(confirmed),
    name,
  ])
  output.text(...formatTable(['ID', 'STATUS', 'SIGN-UPS', 'CONFIRMED', 'NAME'], rows))
}

async function showForm({ forms, output, team }: Context, id: string): Promise<void> {
  const { id: teamId } = await team()
  const form = await forms.get({ teamId, id })
  output.object(presentForm(form))
  const facts = [
    ['Name', form.name],
    ['ID', form.id],
    ['Status', form.status],
    ['Page', form.url ?? 'none: this server has no public address'],
    ['From', form.from],
    ['Languages', form.languages.join(', ')],
    ['Asks for', ['email', ...form.fields.map(({ name }) => name)].join(', ')],
    ['Segments', form.segmentIds.join(', ') || 'none'],
    ['Topics', form.topicIds.join(', ') || 'none'],
    ['Allowed sites', form.origins.join(', ') || 'none'],
    ['Sign-ups', String(form.submitted)],
    ['Confirmed', String(form.confirmed)],
  ]
  output.text(...formatTable(['FIELD', 'VALUE'], facts))
}

async function printForm({ forms, output, team }: Context, id: string): Promise<void> {
  const { id: teamId } = await team()
  const form = await forms.get({ teamId, id })
  output.object(presentForm(form))
  output.text(form.html?.trimEnd() ?? 'This server has no public address that others can open.')
}

async function setStatus(context: Context, id: string, status: 'enabled' | 'disabled'): Promise<void> {
  const { forms, output, team } = context
  const { id: teamId } = await team()
  output.object(presentForm(await forms.update({ teamId, id, input: { status } })))
  output.text(status === 'enabled' ? 'Enabled.' : 'Disabled. It no longer accepts sign-ups.')
}

const enableForm = (context: Context, id: string): Promise<void> => setStatus(context, id, 'enabled')

const disableForm = (context: Context, id: string): Promise<void> => setStatus(context, id, 'disabled')

async function removeForm({ forms, output, team }: Context, id: string): Promise<void> {
  const { id: teamId } = await team()
  await forms.remove({ teamId, id })
  output.object(presentDeleted('form', id))
  output.text('Deleted. Its contacts stay.')
}
