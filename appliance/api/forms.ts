/** Sign-up forms with double opt-in. */
import { Type, type Static } from 'typebox'
import { type FormDetails, FORM_STATUSES } from '../mail/form.ts'
import { PAGE_LANGUAGES } from '../mail/unsubscribe-page.ts'
import { operationsIn } from './operation.ts'
import { byId, query, shortPage } from './parameters.ts'
import {
  array,
  boolean,
  count,
  kind,
  literals,
  Nullable,
  object,
  optionalText,
  record,
  string,
} from './schemas.ts'
import { Deleted, Id, listOf, Timestamp } from './shared.ts'
import { timestamp } from './timestamp.ts'

const USUAL = 'null: the default text.'
const own = (what: string, most: string) =>
  Nullable(Type.String(), `${what}, at most ${most} characters; ${USUAL}`)
const texts = {
  title: own('Heading of the page', '100'),
  text: own('Text below the heading', '1,000'),
  consent: Nullable(Type.String(), 'What the person agrees to, at most 1,000 characters; null: nothing.'),
  button: own('Button', '50'),
  subject: own('Subject of the confirmation email', '200'),
  message: own('First paragraph of the confirmation email', '1,000'),
  labels: record(
    Type.String(),
    'Labels of fields, by name, at most 100 characters each. A property without one shows its key.',
  ),
}
const Words = object('Your own texts in one language.', texts)
const GivenWords = Type.Partial(Type.Object(texts), {
  description: 'Your own texts in one language; absent: the default text.',
})

const Field = object('A field of the form besides the address.', {
  name: string('`first_name`, `last_name`, or the key of a contact property.', { examples: ['first_name'] }),
  required: boolean('Whether it can’t be left empty.'),
})
const name = string('For your team only. At most 100 characters.', {
  examples: ['Newsletter on the website'],
})
const from = string('Sender of the confirmation email, at a verified domain.', {
  examples: ['Acme <news@acme.com>'],
})
const status = literals(FORM_STATUSES, 'disabled: it accepts no sign-ups. Links in emails still work.')
const ids = (what: string) => array(Type.String(), what)
const SEGMENTS = 'Segments without rules that people are added to, at most 20.'
const TOPICS = 'Topics that people are subscribed to, at most 20.'
const FIELDS = 'Fields of the form besides the address, in order, at most 20.'
const LANGUAGES = `Languages of the page and the email: ${PAGE_LANGUAGES.join(', ')}. The first is used for browsers that request none of them.`
const ORIGINS = 'Other sites that may contain the form, at most 20, such as `https://acme.com`.'

/** GET /forms/:id. Not part of the hosted API. */
export const Form = object('A sign-up form.', {
  object: kind('form'),
  id: Id,
  name,
  status,
  segment_ids: ids(SEGMENTS),
  topic_ids: ids(TOPICS),
  fields: array(Field, FIELDS),
  from,
  languages: array(literals(PAGE_LANGUAGES), LANGUAGES),
  words: record(Words, 'Your own texts by language.'),
  submitted_url: Nullable(
    Type.String(),
    'Where the browser goes after the sign-up; null: to a page of this server.',
  ),
  confirmed_url: Nullable(
    Type.String(),
    'Where it goes after the confirmation; null: to a page of this server.',
  ),
  allowed_origins: array(Type.String(), ORIGINS),
  url: Nullable(Type.String(), 'The form’s own page; null: the server has no public address.'),
  html: Nullable(Type.String(), 'The form as HTML for your site; null without `url`.'),
  submitted: count('Sign-ups so far.'),
  confirmed: count('Confirmed sign-ups so far.'),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type Form = Static<typeof Form>
export const FormList = listOf(Form, 'forms')

const optional = {
  status: Type.Optional(status),
  segment_ids: Type.Optional(ids(SEGMENTS)),
  topic_ids: Type.Optional(ids(TOPICS)),
  fields: Type.Optional(array(Field, FIELDS)),
  languages: Type.Optional(array(Type.String(), `${LANGUAGES} Default: en.`)),
  words: Type.Optional(
    record(Nullable(GivenWords), 'Your own texts by language; null removes those of a language.'),
  ),
  submitted_url: optionalText('Where the browser goes after the sign-up; null: to a page of this server.'),
  confirmed_url: optionalText('Where it goes after the confirmation; null: to a page of this server.'),
  allowed_origins: Type.Optional(array(Type.String(), ORIGINS)),
}
export const CreateForm = object('A form to create.', { name, from, ...optional })
export const UpdateForm = object('What to change. Other fields stay the same.', {
  name: Type.Optional(name),
  from: Type.Optional(from),
  ...optional,
})
export type UpdateForm = Static<typeof UpdateForm>
export const FormDeleted = object('The deleted form.', { object: kind('form'), id: Id, deleted: Deleted })

const operation = operationsIn('Forms')
const OURS = 'Not part of the hosted API.'

export const createForm = operation('POST /forms', {
  summary: 'Create a sign-up form',
  description: `People who sign up get an email, and become contacts when they confirm it. A team can have at most 100. ${OURS}`,
  body: CreateForm,
  response: { 201: Form },
})
export const listForms = operation('GET /forms', {
  summary: 'List sign-up forms',
  description: OURS,
  querystring: query(shortPage),
  response: { 200: FormList },
})
export const getForm = operation('GET /forms/:id', {
  summary: 'Get a sign-up form',
  description: OURS,
  params: byId,
  response: { 200: Form },
})
export const updateForm = operation('PATCH /forms/:id', {
  summary: 'Change a sign-up form',
  description: `Takes effect at once, also for sign-ups that wait for confirmation. ${OURS}`,
  params: byId,
  body: UpdateForm,
  response: { 200: Form },
})
export const deleteForm = operation('DELETE /forms/:id', {
  summary: 'Delete a sign-up form',
  description: `Its contacts stay. Sign-ups that wait for confirmation are deleted. ${OURS}`,
  params: byId,
  response: { 200: FormDeleted },
})

export const presentForm = (form: FormDetails): Form => ({
  object: 'form',
  id: form.id,
  name: form.name,
  status: form.status,
  segment_ids: form.segmentIds,
  topic_ids: form.topicIds,
  fields: form.fields.map(({ name: field, required }) => ({ name: field, required })),
  from: form.from,
  languages: form.languages,
  words: form.words,
  submitted_url: form.submittedUrl,
  confirmed_url: form.confirmedUrl,
  allowed_origins: form.origins,
  url: form.url,
  html: form.html,
  submitted: form.submitted,
  confirmed: form.confirmed,
  created_at: timestamp(form.createdAt),
  updated_at: timestamp(form.updatedAt),
})

/** Formats the settings of a form for the audit log. */
export function presentFormSetting(form: FormDetails): Partial<Form> {
  const {
    html: _html,
    submitted: _submitted,
    confirmed: _confirmed,
    updated_at: _at,
    ...setting
  } = presentForm(form)
  return setting
}
