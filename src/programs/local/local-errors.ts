// The numbered errors of local.
import { errorTable } from '#lib/error-table.ts'

export const localErrors = errorTable({
  KN1201: {
    text: 'a local fleet is already running in {path} (pid {pid})',
    next: 'stop it first, or choose another folder with --data',
  },
  KN1202: {
    text: 'cannot use {root}: another version of KubeNode made it (its format is {format}, this version uses {dataFormat})',
    next: 'start over with --reset, which deletes its clusters and the commits of its demo, or choose another folder with --data',
  },
  KN1203: {
    text: 'cannot use {root}: it contains {file} and no fleet.json, so it is not a KubeNode data folder',
    next: 'choose another folder with --data',
  },
  KN1202_damaged: {
    text: 'cannot read {state}: {why}',
    next: 'start over with --reset',
  },
  KN1205: {
    text: 'cannot write to {folder}: {why}',
    next: 'choose a writable folder with --data',
  },
  KN1206: {
    text: 'cannot start the API server of {cluster}: port {port} is in use by another program',
    next: 'stop that program, or start over with --reset',
  },
  KN1208: {
    text: 'cannot run git: it is not installed',
    next: 'install git; the fleet is changed by commits',
  },
  KN1209: {
    text: 'cannot read the newest commit of {source}: {why}',
    next: 'run git init, git add -A and git commit -m "fleet: start" in it',
  },
  KN1211: {
    text: 'cannot create the identity {name}: its certificate was not signed within {signWithinMs} s',
    next: 'check the log of the API server',
  },
  KN1211_install: {
    text: 'cannot install {object}: {message}',
    next: 'check the log of the API server',
  },
  KN1211_unreachable: {
    text: 'cannot reach the API server of {kubeconfig}: {why}',
    next: 'check the log of the API server',
  },
  KN1215: {
    text: 'no local fleet in {data}',
    next: 'start one with npx kubenode local up in the folder of a fleet, or npm start in the checkout of KubeNode; or give its folder with --data',
  },
  KN1206_none: {
    text: 'cannot start the API server of {cluster}: no free port on {host}',
    next: 'free a port: stop a program that listens on this host',
  },
  KN1205_demo: {
    text: 'cannot make the repository of the demo in {target}: {why}',
    next: 'free space or fix the permissions there, or choose another folder with --data',
  },
  KN1224: {
    text: 'cannot make the machines of the fleet with the driver {driver}: {why}',
    next: 'see docs/operations/machines.md, or leave --driver out: then nodes are processes of this user',
  },
  KN1202_driver: {
    text: 'cannot use the driver {asked}: the fleet in this folder was made with {known}',
    next: 'leave --driver out, start over with --reset, or use another folder with --data',
  },
  KN1202_programs: {
    text: 'cannot run the programs of Kubernetes: the fleet in this folder was made with the embedded server',
    next: 'leave --real out, start over with --reset, or use another folder with --data',
  },
  KN1097_local: {
    text: 'cannot run the programs of Kubernetes: {why}',
    next: 'set {variable} to a folder with etcd, kube-apiserver and kube-controller-manager of one version',
  },
  KN1222: {
    text: 'cannot read {folder}: it does not exist; it was moved or deleted while the fleet was running',
    next: 'move it back and start the fleet again, or start a new fleet with another --data',
  },
  KN1231: {
    text: 'cannot start a fleet: neither the current folder nor one above it has fleet/main.ts, and {root} has no demo',
    next: 'make a fleet with kubenode init my-fleet, and start it in its folder',
  },
  KN1232: {
    text: 'cannot serve the components of the fleet: the commit has no {file}, which names the keys that nodes trust',
    next: 'commit the one that kubenode init made',
  },
  KN1233: {
    text: 'cannot run Prometheus: {program} did not start: {why}',
    next: 'install it, as with apt install prometheus, or name its file with --program',
  },
  KN1233_noFleet: {
    text: 'cannot run Prometheus: no local fleet around {folder}',
    next: 'run it in the folder of a fleet that kubenode local up runs, or name its data with --data',
  },
  KN1233_stopped: {
    text: 'cannot run Prometheus: the fleet in {folder} does not run',
    next: 'start it with kubenode local up in another terminal',
  },
  KN1233_ended: {
    text: 'Prometheus ended with exit code {code}; its log is {log}',
    next: 'read the end of that log',
  },
  KN1233_rules: {
    text: 'cannot run Prometheus: there is no file {file} with rules',
    next: 'name another file with --rules, or leave it out for the shipped ones',
  },
  KN1233_port: {
    text: 'cannot run Prometheus: another program uses port {port} of 127.0.0.1',
    next: 'stop it, or name another port with --port',
  },
  KN1233_token: {
    text: 'cannot scrape the agents of {cluster}: the API server answered the request for a token with {status}',
    next: 'read the log of the API servers; it is tried again in ten seconds',
  },
  KN1234: {
    text: 'cannot provoke the fault {fault} here: {why}',
    next: 'leave --component out, or take another fault; kubenode local break --help names them',
  },
  KN1234_stopped: {
    text: 'cannot provoke a fault: the fleet in {folder} does not run',
    next: 'start it with kubenode local up in another terminal',
  },
  KN1234_node: {
    text: 'no node {node} in this fleet{known}',
    next: 'take a name of kubenode get nodes',
  },
  KN1234_component: {
    text: 'no such component runs on the node; running: {names}',
    next: 'name one of them with --component, or wait until one runs',
  },
  KN1234_ended: {
    text: 'cannot signal {what}: its process has ended',
    next: 'it is started again by itself; repeat this in some seconds',
  },
  KN1234_noLine: {
    text: 'no log rule in {file} has a pattern that is a plain line',
    next: 'write a line that one of your patterns matches into the log file below the root folder of the node',
  },
  KN1202_followed: {
    text: 'cannot start the fleet in {root}: it follows {known}, not {asked}',
    next: 'use another folder with --data, or start over with --reset',
  },
  KN1202_moved: {
    text: 'cannot use {root}: it was copied or moved from {folder}, where the identities of its nodes belong',
    next: 'start the fleet there, or start a new one here with --reset',
  },
})
