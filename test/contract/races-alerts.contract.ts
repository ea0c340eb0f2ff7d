import { expect } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { newAlert } from './alerts.contract.ts'
import { DAY, makeTeam, putEmail, T0 } from './fixtures.ts'
import { type Racing, sorted } from './racing.ts'

/** Tests races of alerts. */
export function racesOfAlerts(race: Racing): void {
  race('an alert opens once and closes once', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const alert = newAlert(team.id)
    const open = (id: string) => (at: Storage) => at.openAlert({ alert: { ...alert, id }, email: false }, T0)
    expect(sorted(await atOnce(open(newId(T0)), open(newId(T0))))).toEqual(['false', 'true'])
    const [opened] = await storage.openAlerts({ teamId: team.id }, T0)
    const close = (at: Storage) => at.closeAlert({ id: opened!.id }, T0)
    expect(sorted(await atOnce(close, close))).toEqual(['false', 'true'])
    const events = await storage.liveEvents({ teamId: team.id, after: { xid: 0, seq: 0 }, limit: 10 }, T0)
    expect(events.map(({ type }) => type)).toEqual(['alert.opened', 'alert.closed'])
  })

  race(
    'an alert closed during an update or email stays closed, and its closing is emailed',
    async (round) => {
      const { storage, atOnce } = round
      const { team } = await makeTeam(storage)
      const alert = newAlert(team.id)
      const { id } = alert
      await storage.openAlert({ alert, email: true }, T0)
      const close = (at: Storage) => at.closeAlert({ id }, T0)
      const note = (at: Storage) => at.noteAlert({ id, value: 1, note: 'More.', calmSince: null }, T0)
      await atOnce(close, note)
      expect(await storage.getAlert({ teamId: team.id, id }, T0)).toMatchObject({ closedAt: T0 })
      const settle = (at: Storage) => at.settleAlertMail({ opened: [id], closed: [] }, T0)
      await atOnce(settle, settle)
      const mailing = await storage.dueAlertMail({ before: T0 + DAY }, T0)
      expect(mailing).toMatchObject({ teamId: team.id, opened: [], closed: [{ id }] })
      await storage.settleAlertMail({ opened: [], closed: [id] }, T0)
      const purge = (at: Storage) => at.purgeAlerts({ before: T0 + 1, most: 99 }, T0)
      const open = newAlert(team.id)
      await storage.openAlert({ alert: open, email: false }, T0)
      await atOnce(purge, purge)
      const { items } = await storage.listAlerts({ teamId: team.id, limit: 9 }, T0)
      expect(items).toEqual([open])
    },
  )

  race('checks events once, and removes their counts once', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    await putEmail(storage, team.id, ['a@people.test'])
    await storage.dropQueue({}, T0)
    const { from, to } = await storage.readUnchecked({}, T0)
    const counts = [{ teamId: team.id, domainId: newId(T0), day: '2026-01-01', check: '', n: 1 }]
    const add = (at: Storage) => at.addInsightDays({ from, to, counts }, T0)
    expect(sorted(await atOnce(add, add))).toEqual(['false', 'true'])
    const purge = (at: Storage) => at.purgeInsightDays({ before: '2026-01-02' }, T0)
    expect(sorted(await atOnce(purge, purge))).toEqual(['0', '1'])
  })

  race('of two concurrent changes of settings, one is stored whole', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const set = (email: boolean) => (at: Storage) =>
      at.setAlertSettings({ teamId: team.id, settings: { email, muted: email ? [] : ['dns'] } }, T0)
    await atOnce(set(true), set(false))
    const { email, muted } = await storage.alertSettings({ teamId: team.id }, T0)
    expect(muted).toEqual(email ? [] : ['dns'])
  })
}
