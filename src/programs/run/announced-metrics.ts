// Writes where a role serves its metrics on loopback, in the form of a file_sd_configs file: a Prometheus on this host finds ports that change with every start.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeWholeFile } from '#lib/whole-file.ts'
import type { StatusHttp } from '#runtime/http.ts'
import type { Part } from '#runtime/manager.ts'

export interface Announced {
  readonly folder: string
  readonly cluster: string
  readonly role: string
}

export function announcedPart(http: StatusHttp, { folder, cluster, role }: Announced): Part {
  const file = join(folder, `${cluster}.${role}.json`)
  return {
    name: http.name,
    start: async () => {
      await http.start()
      mkdirSync(folder, { recursive: true })
      const group = { targets: [`127.0.0.1:${http.port ?? 0}`], labels: { job: `kubenode-${role}`, cluster } }
      writeWholeFile(file, `${JSON.stringify([group])}\n`)
    },
    stop: async () => {
      rmSync(file, { force: true })
      await http.stop()
    },
  }
}
