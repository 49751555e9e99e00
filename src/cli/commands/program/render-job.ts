// `kubenode render-job FOLDER`: the command in the pod of a render Job. Hidden, because only sync creates such pods.
import type { Command } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import { VERSION } from '#lib/program-version.ts'

const ENDED_BY_SIGTERM = 143

export function register(program: Command, io: Io): void {
  program.command('render-job <folder>', { hidden: true }).action(async (folder: string) => {
    // The first process of a container ignores signals it does not handle.
    process.once('SIGTERM', () => process.exit(ENDED_BY_SIGTERM))
    const { renderInPod } = await import('#sync/render/job/inside-pod.ts')
    await renderInPod(folder, VERSION, (text) => io.out(text))
  })
}
