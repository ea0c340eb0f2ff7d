import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Command } from 'commander'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createAccounts, type Accounts } from '../../../appliance/accounts/accounts.ts'
import * as adapters from '../../../appliance/assembly/adapters.ts'
import * as opening from '../../../appliance/assembly/storage.ts'
import { systemClock } from '../../../appliance/clock/clock.ts'
import { loadProviders } from '../../../appliance/config/config.ts'
import { createProgram, runProgram } from '../../../appliance/commands/program.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import { createLaneState, Providers, serializeLane } from '../../../appliance/shaping/shaping.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import type { ApiDocument } from '../../../scripts/generators/openapi.ts'
import { startReceiver, type Receiver } from '../../world/receiver.ts'
import { createWorld, type World } from '../../world/world.ts'
import { storeDeferred } from './deferred.ts'
import { prepareObjects } from './prepared.ts'
import { installation } from './program.ts'

const [emailId, deliveryId] = [newId(Date.now()), newId(Date.now())]
const document = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../appliance/api/openapi.json'), 'utf8'),
) as ApiDocument

let world: World
let storage: Storage
let accounts: Accounts
let receiver: Receiver
let config: string
let list: string

beforeAll(async () => {
  world = await createWorld({ domains: {} })
  receiver = await startReceiver()
  const made = installation(
    `[dns]\nservers = ["${world.dnsServers[0]!}"]\n[webhooks]\nallow_networks = ["127.0.0.0/8"]\n`,
  )
  config = made.config
  list = join(made.dataDir, 'list.csv')
  storage = await openSqlite({ dataDir: made.dataDir })
  writeFileSync(list, 'email,origin\nbob@one.test,bounce\nno address,\n')
  accounts = createAccounts({ storage, clock: systemClock, hostname: 'mail.sender.test' })
  await accounts.createOwner({ email: 'owner@sender.test', password: 'a long password', teamName: 'Acme' })
})
afterAll(async () => {
  await storage.close()
  await receiver.close()
  await world.close()
})

/** Runs a command in this process. Returns its --json output. */
async function print(words: string[]): Promise<unknown> {
  const printed = { out: '', err: '' }
  const hear = (at: 'out' | 'err') =>
    vi.spyOn(process[`std${at}`], 'write').mockImplementation((text) => {
      printed[at] += String(text)
      return true
    })
  const kept = { ...storage, close: () => Promise.resolve() }
  const spies = [hear('out'), hear('err')]
  try {
    await runProgram(
      [...words, '--config', config, '--json'],
      // Opened once, because each command would need a quarter of a second for it.
      () => Promise.resolve({ ...adapters, ...opening, openStorage: () => Promise.resolve(kept) }),
      '0.0.0',
    )
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
  if (printed.out === '') throw new Error(`${words.join(' ')}: ${printed.err}`)
  return JSON.parse(printed.out)
}

/** Returns the document with `additionalProperties: false` on objects that don't define it. */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed)
  if (typeof part !== 'object' || part === null) return part
  const whole = Object.fromEntries(Object.entries(part).map(([key, one]) => [key, closed(one)]))
  const isObject = whole.type === 'object' && 'properties' in whole
  return isObject ? { additionalProperties: false, ...whole } : whole
}

const ajv = new Ajv2020({
  strict: false,
  formats: { uuid: /^[0-9a-f-]{36}$/, 'date-time': /^\d{4}-\d\d-\d\dT/ },
})
ajv.addSchema(closed(document) as object, 'document')

const slashed = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

/** The location of each operation's response schema, by operation ID. */
const RESPONSES = new Map(
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, responses }]) => {
      const status = Object.keys(responses).find((one) => one.startsWith('2'))
      const keys = ['paths', path, method, 'responses', status!, 'content', 'application/json', 'schema']
      return [operationId, `document#/${keys.map(slashed).join('/')}`]
    }),
  ),
)

/** Returns how the output differs from the operation's response. */
function differences(printed: unknown, operationId: string): string[] {
  const validate = ajv.getSchema(RESPONSES.get(operationId)!)!
  if (validate(printed)) return []
  return validate.errors!.map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  )
}

/** A command, and the operation that returns the same object. A command that changes an object may print all of it. */
type Step = [words: string, operationId: string]

/** In an order in which each works. `$noun` is the ID of the last printed object of that kind. */
const STEPS: Step[] = [
  ['domain add sender.test', 'createDomain'],
  ['domain list', 'listDomains'],
  ['domain show sender.test', 'getDomain'],
  ['domain verify sender.test', 'getDomain'],
  ['domain rotate sender.test', 'rotateDkimKeys'],
  ['domain delegate sender.test none', 'getDomain'],
  ['domain bodies sender.test discard', 'setBodyRetention'],
  ['domain add other.test', 'createDomain'],
  ['domain remove other.test', 'deleteDomain'],
  ['key create --name shop', 'createApiKey'],
  ['key list', 'listApiKeys'],
  ['key revoke $api_key', 'deleteApiKey'],
  ['team create Second --owner owner@sender.test', 'getTeam'],
  ['team rename Renamed', 'renameTeam'],
  ['team plan free', 'getTeam'],
  ['team provider-rules', 'getProviderRules'],
  ['team set-provider-rules warn', 'setProviderRules'],
  ['domain provider-rules sender.test', 'getDomainProviderRules'],
  ['domain reputation sender.test', 'getDomainReputation'],
  ['domain insights sender.test', 'getDomainInsights'],
  ['member list', 'listMembers'],
  ['member invite ann@sender.test --role viewer', 'createInvitation'],
  ['member role ann@sender.test developer', 'updateMember'],
  ['member remove ann@sender.test', 'removeMember'],
  ['suppression add ann@one.test', 'getSuppression'],
  ['suppression list', 'listSuppressions'],
  ['suppression export', 'listSuppressions'],
  ['suppression import $list', 'importSuppressions'],
  ['suppression remove ann@one.test', 'deleteSuppression'],
  ['contact list', 'searchContacts'],
  ['contact show $contact', 'getContact'],
  ['contact export', 'listContacts'],
  ['contact import $list --preview', 'summarizeContactImport'],
  ['contact import $list', 'createContactImport'],
  ['contact undo $contact_import_done', 'undoContactImport'],
  ['segment list', 'listSegments'],
  ['segment show $segment', 'getSegment'],
  ['segment import $segment $list --preview', 'summarizeContactImport'],
  ['segment export $segment', 'listContacts'],
  ['topic import $topic $list', 'createContactImport'],
  ['topic export $topic', 'listContacts'],
  ['topic list', 'listTopics'],
  ['topic show $topic', 'getTopic'],
  ['automation list', 'listAutomations'],
  ['automation show $automation', 'getAutomation'],
  ['automation enable $automation', 'updateAutomation'],
  ['automation runs $automation', 'listAutomationRuns'],
  ['automation run $automation $run', 'getAutomationRun'],
  ['automation test $automation user.created run@one.test', 'testAutomation'],
  ['automation retry $automation $failed_run', 'retryAutomationRun'],
  ['automation stop $automation', 'stopAutomation'],
  ['archive show', 'getArchive'],
  ['archive enable', 'updateArchive'],
  ['archive set --title News --search-engines deny', 'updateArchive'],
  ['archive disable', 'updateArchive'],
  ['form list', 'listForms'],
  ['form show $form', 'getForm'],
  ['form html $form', 'getForm'],
  ['form disable $form', 'updateForm'],
  ['form enable $form', 'updateForm'],
  ['form remove $form', 'deleteForm'],
  ['alert list', 'listAlerts'],
  ['alert show $alert', 'getAlert'],
  ['alert settings', 'getAlertSettings'],
  ['alert mute dns', 'setAlertSettings'],
  ['alert unmute dns', 'setAlertSettings'],
  ['alert email off', 'setAlertSettings'],
  ['event list', 'listEvents'],
  ['event show $event', 'getEvent'],
  ['event send user.created ada@one.test --payload {"plan":"pro"}', 'sendEvent'],
  ['event sent user.created', 'listSentEvents'],
  ['broadcast list', 'listBroadcasts'],
  ['broadcast show $broadcast', 'getBroadcast'],
  ['broadcast review $draft', 'reviewBroadcast'],
  ['broadcast send $draft --yes', 'sendBroadcast'],
  ['broadcast rate $broadcast 500', 'updateBroadcast'],
  ['broadcast publish $broadcast', 'updateBroadcast'],
  ['broadcast withdraw $broadcast', 'updateBroadcast'],
  ['broadcast pause $broadcast', 'pauseBroadcast'],
  ['broadcast resume $broadcast', 'resumeBroadcast'],
  ['broadcast cancel $broadcast', 'cancelBroadcast'],
  ['broadcast winner $tested B', 'chooseBroadcastVariant'],
  ['inbound list', 'listReceivedEmails'],
  ['inbound show $received', 'getReceivedEmail'],
  ['inbound add-rule sender.test * refuse', 'setReceivingRules'],
  ['inbound add-rule sender.test support* forward --to ann@one.test', 'setReceivingRules'],
  ['inbound rules sender.test', 'getReceivingRules'],
  ['inbound remove-rule sender.test *', 'setReceivingRules'],
  ['report list sender.test', 'listDomainReports'],
  ['report show sender.test', 'getDmarcSummary'],
  ['report show sender.test --tls', 'getTlsSummary'],
  ['report show in.one.test --report $report', 'getDomainReport'],
  ['template list', 'listTemplates'],
  ['template show $template', 'getTemplate'],
  ['template publish welcome', 'publishTemplate'],
  ['webhook add $url', 'getWebhook'],
  ['webhook list', 'listWebhooks'],
  ['webhook show $webhook', 'getWebhook'],
  ['webhook set $webhook --broadcasts off', 'getWebhook'],
  ['webhook disable $webhook', 'getWebhook'],
  ['webhook enable $webhook', 'getWebhook'],
  ['webhook rotate $webhook', 'getWebhook'],
  ['webhook ping $webhook', 'pingWebhook'],
  ['webhook replay $webhook --since 2026-01-01', 'replayWebhook'],
  ['webhook remove $webhook', 'deleteWebhook'],
  ['queue list', 'listQueue'],
  ['queue count', 'getQueueSummary'],
  ['queue lanes', 'listQueueLanes'],
  ['queue show $delivery', 'getTimeline'],
  ['email export $sent', 'getEmailRecord'],
  ['queue hold --new --domain one.test', 'holdQueue'],
  ['queue holds', 'listHoldRules'],
  ['queue list --state held', 'listQueue'],
  ['queue undo $rule', 'undoQueueChange'],
  ['queue release', 'releaseQueue'],
  ['queue retry', 'retryQueue'],
  ['queue reroute --to default', 'rerouteQueue'],
  ['queue expire --domain one.test --dry-run', 'previewQueueChange'],
  ['queue expire --domain one.test --yes', 'expireQueue'],
  ['queue drop --domain two.test --yes', 'dropQueue'],
  ['source add 192.0.2.7 --pool news', 'createSource'],
  ['source list', 'listSources'],
  ['source reputation 192.0.2.7', 'getSourceReputation'],
  ['source suspend 192.0.2.7', 'updateSource'],
  ['source resume 192.0.2.7', 'updateSource'],
  ['source pool 192.0.2.7 other', 'updateSource'],
  ['source hostname 192.0.2.7 mx7.sender.test', 'updateSource'],
  ['source warm-up 192.0.2.7', 'updateSource'],
  ['source assign other --stream broadcast', 'createPoolAssignment'],
  ['source pools', 'listPools'],
  ['source region default eu-west-1', 'updatePool'],
  ['region list', 'listRegions'],
  ['region preview us-east-1 --to eu-west-1', 'previewFailover'],
  ['source assignments', 'listPoolAssignments'],
  ['source unassign $pool_assignment', 'deletePoolAssignment'],
  ['source remove 192.0.2.7', 'deleteSource'],
  ['provider list', 'listProviders'],
  ['provider show google', 'getProvider'],
  ['provider set google connections=3', 'updateProvider'],
  ['lane list', 'listLanes'],
  ['lane pause auto~google --minutes 5', 'pauseLane'],
  ['lane resume auto~google', 'resumeLane'],
  ['metrics show', 'getMetrics'],
  ['metrics breakdown', 'breakDownMetrics'],
  ['tls policy one.test', 'getTlsPolicy'],
  ['certificate list', 'listCertificates'],
  ['doctor --domain sender.test', 'getDoctor'],
  ['retention', 'getRetention'],
  ['erase ann@one.test --dry-run', 'createErasure'],
  ['erase ann@one.test --yes', 'createErasure'],
  ['audit', 'listAudit'],
]

/** Commands whose output no operation returns, or that print no object. */
const OWN: Record<string, string> = {
  'team list': 'all teams; the API lists those of a person',
  'user list': 'people of all teams',
  'user password': 'operators only',
  'user reset-link': 'operators only',
  'user reset-factors': 'operators only',
  'broadcast export': 'prints the rows of GET /broadcasts/:id/recipients/export.csv as objects',
  'certificate issue': 'asks the running daemon, then prints what certificate list prints',
  'certificate renew': 'asks the running daemon, then prints what certificate list prints',
  'metrics recompute': 'operators only',
  'node list': 'needs PostgreSQL',
  'node forget': 'operators only',
  serve: 'runs the server',
  setup: 'prints the team and its owner, which POST /setup leaves to the session',
  status: 'operators only',
  simulate: 'operators only',
  crashtest: 'operators only',
  backup: 'operators only',
  restore: 'operators only',
  'secrets status': 'operators only',
  'secrets rekey': 'operators only',
  'migrate-storage': 'operators only',
  import: 'operators only',
  migrate: 'operators only',
  version: 'of the program',
}

const namesOf = (command: Command, at: string[] = []): string[] => {
  const parts = command.commands.flatMap((one) => namesOf(one, [...at, one.name()]))
  return parts.length === 0 ? [at.join(' ')] : parts
}

test('for every command, it is known which API objects it prints', () => {
  const nowhere = () => Promise.reject(new Error('no command runs here'))
  const program = createProgram(nowhere, '0.0.0', () => undefined)
  const names = namesOf(program)
  const compared = names.filter((name) => STEPS.some(([words]) => `${words} `.startsWith(`${name} `)))
  expect([...compared, ...Object.keys(OWN)].toSorted()).toEqual(names.toSorted())
})

/** The fields that tests read. */
interface Printed {
  object: string
  id?: string
  rule?: { id: string } | null
  link?: string
}

/** Joins a team through an invitation link. */
async function accept(link: string): Promise<void> {
  await accounts.members.acceptByPassword({ token: link.split('#')[1]!, password: 'another long password' })
}

test('commands with --json print exactly the objects of the API', async () => {
  const seen = new Map([
    ['list', list],
    ['url', receiver.url],
    ['delivery', deliveryId],
    ['sent', emailId],
    ...(await prepareObjects(storage)),
  ])
  const wrong: string[] = []
  for (const [words, operationId] of STEPS) {
    if (words === 'queue list') await prepareQueue()
    const typed = words.replaceAll(/\$(\w+)/g, (_, noun: string) => seen.get(noun)!)
    const printed = await print(typed.split(' '))
    const { object, id, rule, link } = printed as Printed
    if (id !== undefined) seen.set(object, id)
    if (link !== undefined) await accept(link)
    if (rule) seen.set('rule', rule.id)
    wrong.push(...differences(printed, operationId).map((difference) => `${words}: ${difference}`))
  }
  expect(wrong).toEqual([])
})

/** Adds queued mail and a lane. */
async function prepareQueue(): Promise<void> {
  await storeDeferred(storage, { emailId, deliveryId })
  const { limits } = new Providers(loadProviders({ connections: 5 })).get('google')
  const told = { pausedUntil: null, reason: null, reasonAt: null, updatedAt: Date.now() }
  const lane = { source: 'auto', provider: 'google', state: serializeLane(createLaneState(limits)), ...told }
  await storage.saveLanes({ lanes: [lane] }, Date.now())
}
