import { expect } from 'vitest'
import type { Storage } from '../../appliance/storage/storage.ts'
import { makeTeam, T0, unique } from './fixtures.ts'
import { type Racing, sorted } from './racing.ts'

/** Tests races of public archives. */
export function racesOfArchives(race: Racing): void {
  race('gives a slug to one team', async ({ storage, atOnce }) => {
    const teams = [(await makeTeam(storage)).team.id, (await makeTeam(storage)).team.id] as const
    const slug = unique('news').toLowerCase()
    const take = (teamId: string) => async (at: Storage) => {
      const answer = await at.updateArchive({ teamId, change: { slug } }, T0)
      return answer === 'taken' ? answer : 'done'
    }
    expect(sorted(await atOnce(take(teams[0]), take(teams[1])))).toEqual(['done', 'taken'])
  })

  race('keeps both of two changes to an archive', async ({ storage, atOnce }) => {
    const teamId = (await makeTeam(storage)).team.id
    const change = (given: object) => (at: Storage) => at.updateArchive({ teamId, change: given }, T0)
    await atOnce(change({ title: 'News' }), change({ description: 'All of it' }))
    expect(await storage.getArchive({ teamId }, T0)).toMatchObject({
      title: 'News',
      description: 'All of it',
    })
  })
}
