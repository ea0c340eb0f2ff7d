/** Objects of the first team that commands print. */
import { createAutomationOperations, createCustomEvents } from '../../../appliance/automations/operations.ts'
import { systemClock } from '../../../appliance/clock/clock.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { createTemplates } from '../../../appliance/templates/templates.ts'
import { newForm } from '../../contract/forms.contract.ts'
import { newAlert } from '../../contract/alerts.contract.ts'
import { newImport, plan } from '../../contract/contact-imports.contract.ts'
import { newDomainReport } from '../../contract/domain-reports.contract.ts'
import { newDomain } from '../../contract/fixtures.ts'
import { newReceived } from '../../contract/received-emails.contract.ts'

/** Creates one object of each kind. Returns their IDs by kind. */
export async function prepareObjects(storage: Storage): Promise<[string, string][]> {
  return [
    ...(await prepareAudience(storage)),
    ...(await prepareReceived(storage)),
    ['template', await prepareTemplate(storage)],
    ['event', await prepareEvent(storage)],
    ['alert', await prepareAlert(storage)],
    ['form', await prepareForm(storage)],
    ...(await prepareAutomation(storage)),
    ['draft', await prepareBroadcast(storage, 'draft')],
    ['broadcast', await prepareBroadcast(storage, 'queued')],
    ['tested', await prepareBroadcast(storage, 'queued')],
  ]
}

/** Creates a contact, a segment and a topic. Returns their IDs by kind. */
async function prepareAudience(storage: Storage): Promise<[string, string][]> {
  const now = Date.now()
  const team = await storage.firstTeam({}, now)
  const about = { teamId: team!.id, createdAt: now, updatedAt: now }
  const [contact, segment, topic] = [newId(now), newId(now), newId(now)]
  await storage.createSegment({ segment: { ...about, id: segment, name: 'VIP', filter: null }, most: 9 }, now)
  const texts = {
    name: 'News',
    description: null,
    visibility: 'public',
    defaultSubscription: 'opt_in',
  } as const
  await storage.createTopic({ topic: { ...about, id: topic, ...texts }, most: 9 }, now)
  const act = { origin: 'api', via: 'api', source: null, ip: null, userAgent: null, wording: null } as const
  const made = { id: contact, teamId: about.teamId, email: 'ada@one.test', segmentIds: [segment], topics: [] }
  await storage.saveContact({ contact: made, act: { ...act, lifts: false } }, now)
  const imported = newImport(about.teamId, { status: 'in_progress', plan, createdAt: now })
  await storage.createContactImport({ made: imported, most: 9 }, now)
  await storage.finishContactImport({ id: imported.id, error: null }, now)
  return [
    ['contact', contact],
    ['contact_import_done', imported.id],
    ['segment', segment],
    ['topic', topic],
  ]
}

/** Creates a sign-up form. */
async function prepareForm(storage: Storage): Promise<string> {
  const now = Date.now()
  const form = newForm((await storage.firstTeam({}, now))!.id, { id: newId(now), createdAt: now })
  await storage.createForm({ form, most: 9 }, now)
  return form.id
}

/** Opens an alert. */
async function prepareAlert(storage: Storage): Promise<string> {
  const now = Date.now()
  const alert = newAlert((await storage.firstTeam({}, now))!.id, { id: newId(now), openedAt: now })
  await storage.openAlert({ alert, email: false }, now)
  return alert.id
}

/** Stores a received email of a new domain, and a report about the domain. */
async function prepareReceived(storage: Storage): Promise<[string, string][]> {
  const now = Date.now()
  const teamId = (await storage.firstTeam({}, now))!.id
  const { domain, keys } = newDomain(teamId, 'in.one.test')
  await storage.createDomain({ domain: { ...domain, status: 'verified', receiving: true }, keys }, now)
  const email = newReceived({ teamId, domainId: domain.id, name: domain.name }, {}, now)
  await storage.keepReceivedEmails({ emails: [email], limits: { messages: 9, bytes: 1_000_000 } }, now)
  const report = newDomainReport({ teamId, domainId: domain.id }, { id: newId(now), receivedAt: now })
  await storage.keepDomainReport({ report, limits: { submitter: 9, reports: 9, rows: 9 } }, now)
  return [
    ['received', email.id],
    ['report', report.id],
  ]
}

/** Defines the custom event `user.created`. */
async function prepareEvent(storage: Storage): Promise<string> {
  const team = await storage.firstTeam({}, Date.now())
  const events = createCustomEvents({ storage, clock: systemClock })
  const schema = { plan: 'string' }
  return (await events.createEvent({ teamId: team!.id, name: 'user.created', schema })).id
}

/** Creates an automation with a run. */
async function prepareAutomation(storage: Storage): Promise<[string, string][]> {
  const now = Date.now()
  const team = await storage.firstTeam({}, now)
  const teamId = team!.id
  const automations = createAutomationOperations({ storage, clock: systemClock })
  const steps = [{ key: 'start', type: 'trigger', config: { event_name: 'user.created' } }]
  const input = { name: 'Welcome', status: 'enabled', steps, connections: [] } as const
  const { id, versionId } = await automations.create({ teamId, input })
  const sent = { id: newId(now), teamId, name: 'user.created', about: { email: 'run@one.test' }, payload: {} }
  await storage.sendCustomEvent({ event: sent, most: 9 }, now)
  const [work] = await storage.pendingEvents({ most: 1 }, now)
  const wait = { key: 'wait', type: 'delay', status: 'waiting', dueAt: now, eventName: null } as const
  const about = { automationId: id, versionId, trigger: 'start' }
  const runs = [
    { ...about, id: newId(now), next: null },
    { ...about, id: newId(now), next: wait },
  ]
  const act = { origin: 'api', via: 'api', source: null, ip: null, userAgent: null, wording: null } as const
  const taking = {
    event: work!.event,
    contactId: newId(now),
    runs,
    resumed: [],
    act: { ...act, lifts: false },
  }
  await storage.takeSentEvent(taking, now)
  const result = {
    status: 'failed',
    output: null,
    error: { message: 'Why.' },
    next: null,
    end: 'failed',
  } as const
  const failing = { runId: runs[1]!.id, key: 'wait', result, act: taking.act }
  await storage.advanceAutomationRun(failing, now)
  return [
    ['automation', id],
    ['run', runs[0]!.id],
    ['failed_run', failing.runId],
  ]
}

/** Creates a template with the alias `welcome`. */
async function prepareTemplate(storage: Storage): Promise<string> {
  const team = await storage.firstTeam({}, Date.now())
  const input = { name: 'Welcome', alias: 'welcome', html: '<p>Hi</p>' }
  const created = createTemplates({ storage, clock: systemClock }).create({
    teamId: team!.id,
    input,
    author: 'ada',
  })
  return (await created).id
}

/** Creates a broadcast that is ready to be sent, or is being sent. */
async function prepareBroadcast(storage: Storage, status: 'draft' | 'queued'): Promise<string> {
  const now = Date.now()
  const team = await storage.firstTeam({}, now)
  const [id, segmentId, revisionId] = [newId(now), newId(now), newId(now)]
  const about = { teamId: team!.id, createdAt: now }
  const segment = { ...about, updatedAt: now, id: segmentId, name: 'Readers', filter: null }
  await storage.createSegment({ segment, most: 9 }, now)
  const texts = { from: 'Ada <ada@in.one.test>', subject: 'News', replyTo: [], previewText: null }
  const content = { ...texts, html: '<a href="{{{UNSUBSCRIBE_URL}}}">Leave</a>', text: null }
  const draft = { ...about, id, name: 'News', segmentId, exclude: [], topicId: null, content, document: null }
  await storage.createBroadcast({ broadcast: draft }, now)
  if (status === 'draft') return id
  const variant = { fromName: null, subject: 'Other', previewText: null, body: null }
  const abTest = { share: 20, waitHours: 4, variants: [variant] }
  await storage.updateBroadcast({ teamId: team!.id, id, change: { content: { abTest } } }, now)
  const revision = { id: revisionId, content: '{}' }
  const variants = [{ id: newId(now), content: '{}' }]
  await storage.startBroadcast({ teamId: team!.id, id, edits: 1, revision, variants }, now)
  return id
}
