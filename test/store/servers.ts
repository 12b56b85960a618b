/** Real servers for tests; benches have the same. */
export { program, startEtcd, startPostgres, startRedis, type Server } from '../../bench/parts/servers.mjs';
