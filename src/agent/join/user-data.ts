// Pure: what a new host of a cloud is given to join: the join line, as user data of cloud-init. Equal bundles give equal texts, because a cloud takes a repeated create
// for the same one only if everything in it is the same.
import type { JoinBundle } from '#api/join-bundle.ts'
import { cloudInit } from './cloud-init.ts'
import { joinLine } from './join-line.ts'

export const userData = (bundle: JoinBundle): string => cloudInit(joinLine({ machine: bundle.machine, bundle }, {}))
