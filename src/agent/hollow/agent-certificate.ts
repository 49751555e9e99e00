// The certificate of one hollow agent, with the name and groups of a real one. It is signed directly with the cluster authority's key, because testing
// thousands of join requests is not the point of a hollow fleet. Never use it on a cluster with nodes that matter.
import { AGENTS_GROUP, agentNodeGroup, agentUser, machineUidGroup } from '#api/names.ts'
import { issueCertificate, type KeyAndCertificate } from '#lib/x509/certificates.ts'

/** Longer than any run. */
const LIFE_DAYS = 7

/** The Node of a hollow host has the same name as its Machine. */
export const hollowCertificate = (
  authority: KeyAndCertificate,
  machine: string,
  uid: string,
  now: number,
): KeyAndCertificate =>
  issueCertificate(authority, {
    subject: {
      commonName: agentUser(machine),
      organizations: [AGENTS_GROUP, agentNodeGroup(machine), machineUidGroup(uid)],
    },
    validity: { now, days: LIFE_DAYS },
    usage: 'client',
  })
