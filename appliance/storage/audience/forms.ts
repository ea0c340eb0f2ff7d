/** Sign-up forms of teams. */
import type { Selectable } from 'kysely'
import type { Form, FormSettings } from '../../mail/form.ts'
import type { Db } from '../schema.ts'
import type { FormsTable } from './tables.ts'

interface FormRef {
  teamId: string
  id: string
}

/** Reads a row. */
export const toForm = (row: Selectable<FormsTable>): Form => ({
  ...(JSON.parse(row.settings) as FormSettings),
  id: row.id,
  teamId: row.team_id,
  submitted: Number(row.submitted),
  confirmed: Number(row.confirmed),
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

/** Returns the columns of a form's settings. */
function columnsOf(form: FormSettings) {
  const { name, status, segmentIds, topicIds, fields, from, languages, words } = form
  const { submittedUrl, confirmedUrl, origins } = form
  const settings: FormSettings = {
    name,
    status,
    segmentIds,
    topicIds,
    fields,
    from,
    languages,
    words,
    submittedUrl,
    confirmedUrl,
    origins,
  }
  return { settings: JSON.stringify(settings), enabled: status === 'enabled' ? 1 : 0 }
}

/** Lists all forms of a team, newest first. */
async function listForms(db: Db, { teamId }: { teamId: string }): Promise<Form[]> {
  const found = db.selectFrom('forms').selectAll().where('team_id', '=', teamId).orderBy('id', 'desc')
  return (await found.execute()).map(toForm)
}

async function getForm(db: Db, { teamId, id }: FormRef): Promise<Form | undefined> {
  const found = db.selectFrom('forms').selectAll().where('team_id', '=', teamId).where('id', '=', id)
  const row = await found.executeTakeFirst()
  return row && toForm(row)
}

/** Finds a form of any team, for its public page. */
async function findForm(db: Db, { id }: { id: string }): Promise<Form | undefined> {
  const row = await db.selectFrom('forms').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toForm(row)
}

/** Creates a form. Returns false and stores nothing if the team already has `most` forms. */
async function createForm(db: Db, { form, most }: { form: Form; most: number }): Promise<boolean> {
  const { n } = await db
    .selectFrom('forms')
    .select((select) => select.fn.countAll<number>().as('n'))
    .where('team_id', '=', form.teamId)
    .executeTakeFirstOrThrow()
  if (Number(n) >= most) return false
  const row = {
    id: form.id,
    team_id: form.teamId,
    ...columnsOf(form),
    submitted: form.submitted,
    confirmed: form.confirmed,
    created_at: form.createdAt,
    updated_at: form.updatedAt,
  }
  await db.insertInto('forms').values(row).execute()
  return true
}

/** Changes the given settings of a form. Returns undefined if it doesn't exist. */
async function updateForm(
  db: Db,
  { teamId, id, change }: FormRef & { change: Partial<FormSettings> },
  now: number,
): Promise<Form | undefined> {
  const before = await getForm(db, { teamId, id })
  if (!before) return undefined
  const form = { ...before, ...change, updatedAt: now }
  await db
    .updateTable('forms')
    .set({ ...columnsOf(form), updated_at: now })
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .execute()
  return form
}

/** Deletes a form and its pending sign-ups. Contacts are kept. Returns undefined if the form doesn't exist. */
async function deleteForm(db: Db, { teamId, id }: FormRef): Promise<Form | undefined> {
  const row = await db
    .deleteFrom('forms')
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return row && toForm(row)
}

export const methods = {
  reads: { listForms, getForm, findForm },
  writes: { createForm, updateForm, deleteForm },
}
