// What the pod of a render Job runs: assembles the input, runs fleet code in a separate process without files, network or this program's output, and
// writes the result to the log.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Cage, ownBundle, POD_LEVEL } from '../cage.ts'
import { runCaged, type CagedEnd } from '../run-caged.ts'
import { MAX_RESULT_BYTES, linesOfResult } from './log-lines.ts'
import { packEnd, unpackInput } from './packed.ts'

/** Names of the mounted input: `00`, `01` and so on; a kubelet adds files that start with a dot. */
const PART = /^\d{2}$/

export async function renderInPod(folder: string, version: string, write: (text: string) => void): Promise<void> {
  const parts = readdirSync(folder)
    .filter((name) => PART.test(name))
    .toSorted()
  const { run, limits, request } = await unpackInput(
    Buffer.concat(parts.map((name) => readFileSync(join(folder, name)))),
  )
  const end = asInPod(await runCaged(new Cage(POD_LEVEL, ownBundle()), request, limits))
  const whole = await packEnd({ version, end })
  const tooLarge = { kind: 'PackedTooLarge', bytes: whole.length, limit: MAX_RESULT_BYTES, printed: '' } as const
  const packed = whole.length <= MAX_RESULT_BYTES ? whole : await packEnd({ version, end: tooLarge })
  for (const line of linesOfResult(run, packed)) write(line)
}

/** Only the kernel ends the process like this: it shares the pod's memory with this program. */
const asInPod = (end: CagedEnd): CagedEnd =>
  end.kind === 'Ended' && end.how === 'was ended by SIGKILL' ? { kind: 'OutOfMemory', printed: end.printed } : end
