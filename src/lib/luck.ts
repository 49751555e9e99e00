// Chance by name: the same seed and name always have the same luck, in whatever order they are asked for.
import { sha256 } from './sha256.ts'

/** In [0, 1). */
export const luckOf = (seed: number, name: string): number => sha256(`${seed}\n${name}`).readUInt32BE() / 2 ** 32
