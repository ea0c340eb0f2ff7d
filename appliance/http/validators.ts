import AjvCompiler, { type BuildCompilerFromPool } from '@fastify/ajv-compiler'
import type { ReadableSchema } from '../api/parameters.ts'
import type { FastifySchemaCompiler, FastifyValidationResult } from 'fastify/types/schema.js'

type MakeCompiler = (...given: Parameters<BuildCompilerFromPool>) => FastifySchemaCompiler<unknown>

// Its types tell of Ajv's own compiler; what Fastify calls takes a route.
const makeCompiler = AjvCompiler() as unknown as MakeCompiler

const isReadable = (schema: unknown): schema is ReadableSchema<unknown> =>
  typeof schema === 'object' && schema !== null && 'read' in schema

/** Paths and query strings are text: their schemas read them. A refusal is the error that Fastify hands on. */
function readBy(schema: ReadableSchema<unknown>): FastifyValidationResult {
  return (given) => {
    try {
      return { value: schema.read(given as Record<string, unknown>) }
    } catch (error) {
      return { error: error as Error }
    }
  }
}

/** Header fields are read where they are used. */
const unchecked: FastifyValidationResult = () => true

const lazily: MakeCompiler = (...given) => {
  const compile = makeCompiler(...given)
  return (route) => {
    if (route.httpPart === 'headers') return unchecked
    if (isReadable(route.schema)) return readBy(route.schema)
    let compiled: FastifyValidationResult | undefined
    const validate: FastifyValidationResult = (data) => {
      compiled ??= compile(route)
      const result = compiled(data)
      // Fastify looks for what is wrong at the function that it was given.
      validate.errors = compiled.errors ?? null
      return result
    }
    return validate
  }
}

/**
 * Makes the validators of routes, each when the first request asks for it: to compile all of them took a seventh of the
 * processor time of a start, for routes that most installations never use.
 */
export const buildValidator = lazily as unknown as BuildCompilerFromPool
