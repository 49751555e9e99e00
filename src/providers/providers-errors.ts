// The numbered errors of providers.
import { errorTable } from '#lib/error-table.ts'

export const providersErrors = errorTable({
  KN11001: {
    text: 'cannot read the record of the node in {dir}: {record} is damaged',
    next: 'remove the folder if the node is no longer needed',
  },
  KN11002: {
    text: 'cannot start the agent of the node in {dir}: {file} {detail}',
    next: 'see {agentLog}',
  },
  KN8031_machine: {
    text: 'cannot restart the node in {dir}: some of its processes do not stop',
    next: 'retried automatically',
  },
  KN11001_static: {
    text: 'cannot determine the owner of the host of {machine}: the record of the static provider is damaged',
    next: 'remove the record',
  },
  KN11011: {
    text: 'cannot reboot {providerID}: only its agent can reboot an existing host',
    next: 'reboot the host manually if the agent is silent',
  },
  KN11020: {
    text: 'cannot create systemd machines: root is required on this host',
    next: 'run as root, or use provider process',
  },
  KN11020_program: {
    text: 'cannot run {file}: {detail}',
    next: 'check that it is installed and that KubeNode runs as root',
  },
  KN11022: {
    text: 'cannot mount the root of a machine at {root}',
    next: 'name a folder without ":", "," and spaces',
  },
  KN11002_supervisor: {
    text: 'cannot start the machine in {dir}: its supervisor ended immediately',
    next: 'see {console}',
  },
  KN8031_powerOff: {
    text: 'cannot power off the machine in {dir}: some of its processes do not stop',
    next: 'retried automatically',
  },
  KN11002_notRunning: {
    text: 'the machine in {dir} is not running',
    next: 'see {console}',
  },
  KN11030: {
    text: 'cannot read the providers file {file}: {why}',
    next: 'name a YAML or JSON file that this user can read with --providers',
  },
  KN11030_form: {
    text: 'cannot use the providers file at {place}: {what}',
    next: 'write a list "providers" of names and options, as docs/reference/providers.md shows',
  },
  KN1704_served: {
    text: 'cannot serve the provider {name} at {place}: no provider has this name{hint}',
    next: 'use one of {names}',
  },
  KN11030_twice: {
    text: 'cannot serve the provider {name} twice: it is listed again at {place}',
    next: 'keep one of them',
  },
  KN11030_option: {
    text: 'cannot serve the provider {name} at {place}: {what}',
    next: 'correct the option; docs/reference/providers.md lists those of each provider',
  },
  KN11040: {
    text: 'cannot call {action} in {place}: {code}: {message}',
    next: 'docs/operations/clouds.md explains the codes on which people have to act; retried automatically',
  },
  KN11041: {
    text: 'cannot call {action} in {place}: the cloud throttles the account',
    next: 'retried in {seconds} s; if it continues, ask for a higher quota or set options.limits',
  },
  KN11042: {
    text: 'cannot call {action} in {place}: {why}',
    next: 'retried automatically; check the network, the endpoint and the credentials if it continues',
  },
  KN11043: {
    text: 'cannot decide yet whether {providerID} exists: the cloud does not list it',
    next: 'it counts as gone after {seconds} s of absence',
  },
  KN11044: {
    text: 'cannot ask about {providerID}: this provider serves {region} only',
    next: 'set options.region in the providers file back, or delete the Machine of the other region first',
  },
  KN11045: {
    text: 'cannot read all of {what}: the list did not end within {pages} pages',
    next: 'retried automatically; nothing is concluded from a part of a list',
  },
  KN11045_form: {
    text: 'cannot read the answer to {action} in {place}: {what}',
    next: 'retried automatically; check that options.endpoint is the API of the cloud',
  },
  KN11047: {
    text: 'cannot serve the provider {name}: {why}',
    next: 'docs/operations/clouds.md shows the kinds of credentials',
  },
  KN11060: {
    text: 'the provider {name} at {place} does not answer: {why}',
    next: 'retried automatically; start the program that serves it, or correct its place in the providers file',
  },
  KN11061: {
    text: 'cannot use the answer of the provider {name} to {call}: {what}',
    next: 'retried automatically; kubenode provider conformance shows what is wrong with the provider',
  },
  KN11062: {
    text: 'cannot trust the socket {path}: {why}',
    next: 'run the program that serves it as the same user, with a socket of mode 0600',
  },
  KN11063: {
    text: 'the provider {name} cannot do {call} ({kind}): {message}',
    next: 'retried automatically; see its own log',
  },
  KN11064: {
    text: 'the provider {name} at {place} is another one than before: {what}',
    next: 'correct the program that serves it; if the change is meant, restart the controllers',
  },
  KN1206_place: {
    text: 'cannot serve the provider {name} at {place}: {why}',
    next: 'correct the place, or end the program that uses it',
  },
  KN1206_placeCheck: {
    text: 'no provider can be used at {place}: {why}',
    next: 'start or correct the program that serves it, or name another place',
  },
  KN11067: {
    text: 'the provider {name} at {place} refuses {token}',
    next: 'name the file of its token as options.tokenFile; both sides read the token again within a minute',
  },
  KN11061_answer: {
    text: 'cannot {what}: provider {name} did not answer within {seconds} s',
    next: 'retried automatically; check the provider and the network to it',
  },
  KN11061_wrong: {
    text: 'cannot {what}: provider {name} gave an answer that cannot be right: {why}',
    next: 'retried automatically; nothing is concluded from the answer',
  },
  KN11061_failed: {
    text: 'cannot {what}: provider {name} failed: {why}',
    next: 'retried automatically; nothing is concluded from the failure',
  },
  KN11083: {
    text: 'cannot decide about {providerID}: it exists without the tags kubenode.io/* of this cluster',
    next: 'put its four tags back, or delete the host yourself',
  },
})
