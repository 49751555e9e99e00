// Runs code as that of a fleet, for attempts to get out of its cage: the answer of the render and what was printed.
import { answered, type UncheckedAnswer } from '#sync/render/answered.ts'
import { CAGE_LEVELS, findCage, type Cage } from '#sync/render/cage.ts'
import { runCaged } from '#sync/render/run-caged.ts'
import { builtCage } from '#test/support/tools/own-build.ts'
import type { Answer } from '#test/support/worlds/attack-world.ts'

/** The weakest has nothing in the way of code but lists and the limits of Node; the strongest is what this machine gives. */
export type Strength = 'weakest' | 'strongest'

export type Files = Readonly<Record<string, string>>

const cages = new Map<Strength, Promise<Cage>>()

function cageOf(strength: Strength): Promise<Cage> {
  const levels = strength === 'weakest' ? CAGE_LEVELS.slice(-1) : CAGE_LEVELS
  const cage = cages.get(strength) ?? findCage('allow', levels, builtCage())
  cages.set(strength, cage)
  return cage
}

export async function cagedCode(text: string, strength: Strength, more: Files = {}, now = 0): Promise<Answer> {
  const cage = await cageOf(strength)
  const request = { files: { 'fleet/main.ts': text, ...more }, entry: 'fleet/main.ts', release: '', now, seed: 1 }
  const { answer, printed } = answered(await runCaged(cage, request), 'render')
  return { status: 0, text: `${shownAnswer(answer)}\n${printed}` }
}

export const shownAnswer = ({ clusters, ...rest }: UncheckedAnswer): string =>
  JSON.stringify({ ok: !('error' in rest), ...('error' in rest && { error: rest.error }), clusters: [...clusters] })
