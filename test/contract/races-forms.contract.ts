import { expect } from 'vitest'
import type { Storage } from '../../appliance/storage/storage.ts'
import { newForm, newSignup, storeForm } from './forms.contract.ts'
import { DAY, makeTeam, T0, unique } from './fixtures.ts'
import { type Racing, sorted } from './racing.ts'

const visitor = { ip: '192.0.2.1', userAgent: null }

/** Tests races of sign-up forms. */
export function racesOfForms(race: Racing): void {
  race('confirms a sign-up once', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const form = await storeForm(storage, team.id)
    const signup = newSignup(form.id)
    await storage.submitSignup({ signup }, T0)
    const confirm = async (at: Storage) =>
      (await at.confirmSignup({ id: signup.id, ...visitor }, T0)) !== undefined
    expect(sorted(await atOnce(confirm, confirm))).toEqual(['false', 'true'])
    expect(await storage.getForm({ teamId: team.id, id: form.id }, T0)).toMatchObject({ confirmed: 1 })
    const settle = (at: Storage) => at.settleSignup({ id: signup.id, sent: true }, T0)
    await atOnce(settle, settle)
    expect(await storage.getSignup({ id: signup.id }, T0)).toMatchObject({ open: false })
    const purge = (at: Storage) => at.purgeSignups({ most: 9 }, T0 + DAY)
    await atOnce(purge, purge)
    expect(await storage.getSignup({ id: signup.id }, T0)).toBeUndefined()
  })

  race('stores one sign-up for an address, and counts every attempt', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const form = await storeForm(storage, team.id)
    const email = `${unique('ada')}@example.com`
    const signups = [newSignup(form.id, { email }), newSignup(form.id, { email })] as const
    const submit = (signup: (typeof signups)[0]) => (at: Storage) => at.submitSignup({ signup }, T0)
    await atOnce(submit(signups[0]), submit(signups[1]))
    const found = await Promise.all(signups.map(({ id }) => storage.getSignup({ id }, T0)))
    expect(found.filter(Boolean)).toHaveLength(1)
    expect(await storage.getForm({ teamId: team.id, id: form.id }, T0)).toMatchObject({ submitted: 2 })
  })

  race('stores one sign-up for an address through two forms', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const [one, other] = [await storeForm(storage, team.id), await storeForm(storage, team.id)]
    const email = `${unique('ada')}@example.com`
    const signups = [newSignup(one.id, { email }), newSignup(other.id, { email })] as const
    const submit = (signup: (typeof signups)[0]) => (at: Storage) => at.submitSignup({ signup }, T0)
    expect(await atOnce(submit(signups[0]), submit(signups[1]))).toEqual(['taken', 'taken'])
    const found = await Promise.all(signups.map(({ id }) => storage.getSignup({ id }, T0)))
    expect(found.filter(Boolean)).toHaveLength(1)
    for (const { id } of [one, other])
      expect(await storage.getForm({ teamId: team.id, id }, T0)).toMatchObject({ submitted: 1 })
  })

  race('a form that is deleted during an update stays deleted', async ({ storage, atOnce }) => {
    const teamId = (await makeTeam(storage)).team.id
    const create = (at: Storage) => at.createForm({ form: newForm(teamId), most: 9 }, T0)
    await atOnce(create, create)
    const [form] = await storage.listForms({ teamId }, T0)
    const { id } = form!
    const update = (at: Storage) => at.updateForm({ teamId, id, change: { name: 'New' } }, T0)
    const remove = async (at: Storage) => (await at.deleteForm({ teamId, id }, T0)) !== undefined
    await atOnce(update, remove)
    expect(await storage.getForm({ teamId, id }, T0)).toBeUndefined()
    expect(sorted(await atOnce(remove, remove))).toEqual(['false', 'false'])
  })
}
