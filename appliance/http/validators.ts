import AjvCompiler, { type BuildCompilerFromPool } from '@fastify/ajv-compiler'
import type { ReadableSchema } from '../api/parameters.ts'
import type { FastifySchemaCompiler, FastifyValidationResult } from 'fastify/types/schema.js'

type MakeCompiler = (...given: Parameters<BuildCompilerFromPool>) => FastifySchemaCompiler<unknown>

// Typed like Ajv's own compiler, although Fastify passes a route.
const makeCompiler = AjvCompiler() as unknown as MakeCompiler

const isReadable = (schema: unknown): schema is ReadableSchema<unknown> =>
  typeof schema === 'object' && schema !== null && 'read' in schema

/**
 * Validates paths and query strings, which are text that their schemas parse. Fastify passes on the error of a refusal.
 */
function readBy(schema: ReadableSchema<unknown>): FastifyValidationResult {
  return (given) => {
    try {
      return { value: schema.read(given as Record<string, unknown>) }
    } catch (error) {
      return { error: error as Error }
    }
  }
}

/** Header fields are validated where they are used. */
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
      // Fastify looks for errors on the function it was given.
      validate.errors = compiled.errors ?? null
      return result
    }
    return validate
  }
}

/**
 * Creates a route's validators on its first request. Compiling all of them took a seventh of the CPU time of a start,
 * for routes that most installations never use.
 */
export const buildValidator = lazily as unknown as BuildCompilerFromPool
