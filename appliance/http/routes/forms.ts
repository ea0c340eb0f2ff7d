import type { FastifyRequest } from 'fastify'
import * as api from '../../api/forms.ts'
import { paginateList, presentDeleted, presentPage } from '../../api/shared.ts'
import type { FormInput } from '../../forms/forms.ts'
import { getCaller, getObjectRef } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

/** Routes for a team's sign-up forms. */
export function formRoutes(app: App, { forms }: Pick<HttpDeps, 'forms'>): void {
  const read = async (request: FastifyRequest) =>
    api.presentFormSetting(await forms.get(getObjectRef(request)))
  const noun = 'form' as const
  serve(app, api.createForm, { audit: 'form.create' }, async (request) => {
    const form = await forms.create({ teamId: getCaller(request).teamId, input: inputOf(request.body) })
    return api.presentForm(form)
  })
  serve(app, api.listForms, {}, async (request) => {
    const page = paginateList(await forms.list({ teamId: getCaller(request).teamId }), request.query)
    return presentPage(page, api.presentForm)
  })
  serve(app, api.getForm, {}, async (request) => api.presentForm(await forms.get(getObjectRef(request))))
  serve(app, api.updateForm, { audit: { action: 'form.update', read } }, async (request) =>
    api.presentForm(await forms.update({ ...getObjectRef(request), input: inputOf(request.body) })),
  )
  serve(app, api.deleteForm, { audit: { action: 'form.delete', read } }, async (request) => {
    await forms.remove(getObjectRef(request))
    return presentDeleted(noun, request.params.id)
  })
}

/** Converts a body; absent fields stay undefined. */
const inputOf = (body: api.UpdateForm): FormInput => ({
  name: body.name,
  status: body.status,
  segmentIds: body.segment_ids,
  topicIds: body.topic_ids,
  fields: body.fields,
  from: body.from,
  languages: body.languages,
  words: body.words,
  submittedUrl: body.submitted_url,
  confirmedUrl: body.confirmed_url,
  origins: body.allowed_origins,
})
